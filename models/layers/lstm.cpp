#include "models/layers/lstm.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// The arguments of the kernels for time step t; `zeros` are the initial cells.
lstm_step step_of(const lstm_weights& w, const packed_sequences& packed, const lstm_states& states, std::uint32_t t,
                  const float* zeros) {
  const auto first = packed.begin[t];
  return {states.gates.row(first),
          w.bias,
          t == 0 ? zeros : states.cell.row(packed.begin[t - 1]),
          states.cell.row(first),
          states.squashed.row(first),
          states.after.row(first),
          packed.active[t],
          w.recurrent.cols};
}

}  // namespace

lstm_states lstm_forward(const lstm_weights& w, const packed_sequences& packed, const tensor_view& x, arena& memory) {
  const std::size_t hidden = w.recurrent.cols;
  const auto make = [&](std::size_t cols) { return make_matrix(memory, x.rows, cols); };
  const lstm_states states{make(4 * hidden), make(hidden), make(hidden), make(hidden), make(hidden)};
  multiply_nt(x, w.input, states.gates);  // for all steps at once

  auto* weights = memory.floats(packed_floats(hidden, 4 * hidden)).data();
  kernels().pack_right(w.recurrent.data, hidden, true, hidden, 4 * hidden, weights);
  const auto zeros = memory.zeros(packed.first_rows() * hidden);
  std::ranges::copy(zeros, states.before.data);
  for (std::uint32_t t = 0; t < packed.steps(); ++t) {
    const auto step = step_of(w, packed, states, t, zeros.data());
    if (t > 0) {
      float* before = states.before.row(packed.begin[t]);
      std::copy_n(states.after.row(packed.begin[t - 1]), step.rows * hidden, before);
      kernels().multiply_packed(
          {before, hidden, false, weights, step.gates, 4 * hidden, step.rows, 4 * hidden, hidden, true});
    }
    kernels().lstm_forward(step);
  }
  return states;
}

void lstm_backward(const lstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                   const lstm_states& states, const tensor_view& d_after, const lstm_gradient& gradient,
                   const tensor_view& d_x, arena& memory) {
  const std::size_t hidden = w.recurrent.cols;
  auto* weights = memory.floats(packed_floats(4 * hidden, hidden)).data();
  kernels().pack_right(w.recurrent.data, hidden, false, 4 * hidden, hidden, weights);
  const auto zeros = memory.zeros(packed.first_rows() * hidden);
  // A sequence that ends before the others finds its own rows still zero.
  const auto d_cell = memory.zeros(packed.first_rows() * hidden);
  for (std::uint32_t t = packed.steps(); t-- > 0;) {
    const auto step = step_of(w, packed, states, t, zeros.data());
    kernels().lstm_backward(step, d_after.row(packed.begin[t]), d_cell.data());
    if (t > 0)
      kernels().multiply_packed({step.gates, 4 * hidden, false, weights, d_after.row(packed.begin[t - 1]), hidden,
                                 step.rows, hidden, 4 * hidden, true});
  }

  const auto& d_gates = states.gates;  // written by the kernel
  if (gradient.input != nullptr) multiply_tn(d_gates, x, {gradient.input, w.input.rows, w.input.cols});
  if (gradient.recurrent != nullptr)
    multiply_tn(d_gates, states.before, {gradient.recurrent, w.recurrent.rows, w.recurrent.cols});
  if (gradient.bias != nullptr) sum_rows(d_gates, gradient.bias);
  if (d_x.data != nullptr) multiply_nn(d_gates, w.input, d_x);
}

}  // namespace furlong::models
