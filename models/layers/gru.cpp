#include "models/layers/gru.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// The arguments of the kernels for time step t.
gru_step step_of(const gru_weights& w, const packed_sequences& packed, const gru_states& states, std::uint32_t t,
                 const float* recurrent) {
  const auto first = packed.begin[t];
  return {states.gates.row(first),
          recurrent,
          w.bias_input,
          w.bias_recurrent,
          states.before.row(first),
          states.candidate.row(first),
          states.after.row(first),
          packed.active[t],
          w.recurrent.cols};
}

}  // namespace

gru_states gru_forward(const gru_weights& w, const packed_sequences& packed, const tensor_view& x, arena& memory) {
  const std::size_t hidden = w.recurrent.cols;
  const gru_states states{make_matrix(memory, x.rows, 3 * hidden), make_matrix(memory, x.rows, hidden),
                          make_matrix(memory, x.rows, hidden), make_matrix(memory, x.rows, hidden)};
  multiply_nt(x, w.input, states.gates);  // for all steps at once

  auto* weights = memory.floats(packed_floats(hidden, 3 * hidden)).data();
  kernels().pack_right(w.recurrent.data, hidden, true, hidden, 3 * hidden, weights);
  const auto products = make_matrix(memory, packed.first_rows(), 3 * hidden);
  std::fill_n(products.data, products.size(), 0.0F);  // the initial state is zero
  std::fill_n(states.before.data, packed.first_rows() * hidden, 0.0F);
  for (std::uint32_t t = 0; t < packed.steps(); ++t) {
    const std::size_t rows = packed.active[t];
    const auto* before = states.before.row(packed.begin[t]);
    if (t > 0) {
      std::copy_n(states.after.row(packed.begin[t - 1]), rows * hidden, states.before.row(packed.begin[t]));
      kernels().multiply_packed(
          {before, hidden, false, weights, products.data, 3 * hidden, rows, 3 * hidden, hidden, false});
    }
    kernels().gru_forward(step_of(w, packed, states, t, products.data));
  }
  return states;
}

void gru_backward(const gru_weights& w, const packed_sequences& packed, const tensor_view& x, const gru_states& states,
                  const tensor_view& d_after, const gru_gradient& gradient, const tensor_view& d_x, arena& memory) {
  const std::size_t hidden = w.recurrent.cols;
  const auto d_recurrent = make_matrix(memory, x.rows, 3 * hidden);
  auto* weights = memory.floats(packed_floats(3 * hidden, hidden)).data();
  kernels().pack_right(w.recurrent.data, hidden, false, 3 * hidden, hidden, weights);
  for (std::uint32_t t = packed.steps(); t-- > 0;) {
    const auto first = packed.begin[t];
    float* d_before = t == 0 ? nullptr : d_after.row(packed.begin[t - 1]);
    kernels().gru_backward(step_of(w, packed, states, t, nullptr),
                           {d_after.row(first), d_recurrent.row(first), d_before});
    if (t > 0)
      kernels().multiply_packed({d_recurrent.row(first), 3 * hidden, false, weights, d_before, hidden, packed.active[t],
                                 hidden, 3 * hidden, true});
  }

  const auto& d_gates = states.gates;  // written by the kernel
  if (gradient.input != nullptr) multiply_tn(d_gates, x, {gradient.input, w.input.rows, w.input.cols});
  if (gradient.recurrent != nullptr)
    multiply_tn(d_recurrent, states.before, {gradient.recurrent, w.recurrent.rows, w.recurrent.cols});
  if (gradient.bias_input != nullptr) sum_rows(d_gates, gradient.bias_input);
  if (gradient.bias_recurrent != nullptr) sum_rows(d_recurrent, gradient.bias_recurrent);
  if (d_x.data != nullptr) multiply_nn(d_gates, w.input, d_x);
}

}  // namespace furlong::models
