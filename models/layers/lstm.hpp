// Long short-term memory (Hochreiter and Schmidhuber 1997, with the forget gate of Gers, Schmidhuber and Cummins 2000),
// in the convention of PyTorch and cuDNN: gates in the order i, f, g, o. There is one bias; their two are only added.
//
//   i = sigmoid(W_i x + U_i h + b_i)       f = sigmoid(W_f x + U_f h + b_f)
//   g = tanh(W_g x + U_g h + b_g)          o = sigmoid(W_o x + U_o h + b_o)
//   c' = f * c + i * g                     h' = o * tanh(c')                      h = c = 0 at first
//
// Pure; arguments do not overlap. States and scratch live in `memory` until it is cleared: one arena per thread.
#pragma once

#include "models/layers/arena.hpp"
#include "models/layers/packed_sequences.hpp"
#include "models/model.hpp"

namespace furlong::models {

struct lstm_weights {
  tensor_view input;      ///< W: 4 hidden x in, the rows of i, then f, then g, then o
  tensor_view recurrent;  ///< U: 4 hidden x hidden
  const float* bias;      ///< b: 4 hidden
};

/// Where the gradients are written, shaped like the weights; null: not computed.
struct lstm_gradient {
  float* input = nullptr;
  float* recurrent = nullptr;
  float* bias = nullptr;
};

/// States kept from forward for backward; all matrices have a row for each element of the packing.
struct lstm_states {
  tensor_view gates;     ///< rows x 4 hidden: i, f, g, o
  tensor_view cell;      ///< rows x hidden: c'
  tensor_view squashed;  ///< rows x hidden: tanh(c')
  tensor_view before;    ///< rows x hidden: h
  tensor_view after;     ///< rows x hidden: h', the layer's output
};

/// x: packed.rows() x in. Sequences may be empty.
[[nodiscard]] lstm_states lstm_forward(const lstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                                       arena& memory);

/// Backpropagation through time. `d_after` (rows x hidden) = dL/dh' on entry, without the contributions of later steps;
/// x is the input of forward. Overwrites d_after, the states, the gradients of the weights, and d_x (rows x in) unless
/// its data is null.
void lstm_backward(const lstm_weights& w, const packed_sequences& packed, const tensor_view& x,
                   const lstm_states& states, const tensor_view& d_after, const lstm_gradient& gradient,
                   const tensor_view& d_x, arena& memory);

}  // namespace furlong::models
