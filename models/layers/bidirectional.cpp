#include "models/layers/bidirectional.hpp"

#include <algorithm>

#include "models/layers/matrices.hpp"

namespace furlong::models {

namespace {

/// Calls visit(row, mirrored) for every row: the mirrored row is as far from its sequence's end as the row is from its
/// beginning. Reversed sequences have the same lengths, so the packing is the same.
template <class Visit>
void each_row_and_mirrored(const packed_sequences& packed, const Visit& visit) {
  std::uint32_t length = packed.steps();
  for (std::uint32_t place = 0; place < packed.count(); ++place) {
    while (packed.active[length - 1] <= place) --length;
    for (std::uint32_t step = 0; step < length; ++step)
      visit(packed.row(place, step), packed.row(place, length - 1 - step));
  }
}

}  // namespace

blstm_states blstm_forward(const blstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                           arena& memory) {
  const std::size_t hidden = w.forward.recurrent.cols;
  blstm_states states;
  states.reversed = make_matrix(memory, x.rows, x.cols);
  each_row_and_mirrored(packed, [&](std::size_t row, std::size_t mirrored) {
    std::copy_n(x.row(row), x.cols, states.reversed.row(mirrored));
  });
  states.forward = lstm_forward(w.forward, packed, x, memory);
  states.backward = lstm_forward(w.backward, packed, states.reversed, memory);
  states.after = make_matrix(memory, x.rows, 2 * hidden);
  each_row_and_mirrored(packed, [&](std::size_t row, std::size_t mirrored) {
    std::copy_n(states.forward.after.row(row), hidden, states.after.row(row));
    std::copy_n(states.backward.after.row(mirrored), hidden, states.after.row(row) + hidden);
  });
  return states;
}

void blstm_backward(const blstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                    const blstm_states& states, const tensor_view& d_after, const blstm_gradient& gradient,
                    const tensor_view& d_x, arena& memory) {
  const std::size_t hidden = w.forward.recurrent.cols;
  const auto d_forward = make_matrix(memory, x.rows, hidden);
  const auto d_backward = make_matrix(memory, x.rows, hidden);
  each_row_and_mirrored(packed, [&](std::size_t row, std::size_t mirrored) {
    std::copy_n(d_after.row(row), hidden, d_forward.row(row));
    std::copy_n(d_after.row(row) + hidden, hidden, d_backward.row(mirrored));
  });
  tensor_view d_reversed;
  if (d_x.data != nullptr) d_reversed = make_matrix(memory, x.rows, x.cols);
  lstm_backward(w.forward, packed, x, states.forward, d_forward, gradient.forward, d_x, memory);
  lstm_backward(w.backward, packed, states.reversed, states.backward, d_backward, gradient.backward, d_reversed,
                memory);
  if (d_x.data == nullptr) return;
  each_row_and_mirrored(packed, [&](std::size_t row, std::size_t mirrored) {
    kernels().add_rows(d_x.row(row), d_reversed.row(mirrored), 1, x.cols);
  });
}

}  // namespace furlong::models
