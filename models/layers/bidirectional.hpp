// Two LSTMs over the same sequences, one from each end (Schuster and Paliwal 1997; Graves and Schmidhuber 2005).
//
// Pure; arguments do not overlap. States and scratch live in `memory` until it is cleared: one arena per thread.
#pragma once

#include "models/layers/lstm.hpp"

namespace furlong::models {

struct blstm_weights {
  lstm_weights forward;
  lstm_weights backward;  ///< the same shapes
};

struct blstm_gradient {
  lstm_gradient forward;
  lstm_gradient backward;
};

struct blstm_states {
  lstm_states forward;
  lstm_states backward;
  tensor_view reversed;  ///< rows x in: x, each sequence from its end
  tensor_view after;     ///< rows x 2 hidden: the layer's output, h' of the forward, then of the backward direction
};

/// x: packed.rows() x in; no sequence is empty. The backward direction reads each sequence from its own end.
[[nodiscard]] blstm_states blstm_forward(const blstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                                         arena& memory);

/// d_after = dL/d(after), rows x 2 hidden, not modified. Overwrites the states, the gradients of the weights, and d_x
/// (rows x in) unless its data is null.
void blstm_backward(const blstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                    const blstm_states& states, const tensor_view& d_after, const blstm_gradient& gradient,
                    const tensor_view& d_x, arena& memory);

}  // namespace furlong::models
