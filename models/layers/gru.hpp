// A gated recurrent unit (Cho et al. 2014), in the convention of PyTorch and cuDNN: gates in the order r, z, n; the
// reset gate acts on the product of the state, after its bias.
//
//   r  = sigmoid(W_r x + b_r + U_r h + c_r)
//   z  = sigmoid(W_z x + b_z + U_z h + c_z)
//   n  = tanh(W_n x + b_n + r * (U_n h + c_n))
//   h' = (1 - z) * n + z * h            h = 0 at first
//
// Pure; arguments do not overlap. States and scratch live in `memory` until it is cleared: one arena per thread.
#pragma once

#include "models/layers/arena.hpp"
#include "models/layers/packed_sequences.hpp"
#include "models/model.hpp"

namespace furlong::models {

struct gru_weights {
  tensor_view input;            ///< W: 3 hidden x in, the rows of r, then z, then n
  tensor_view recurrent;        ///< U: 3 hidden x hidden
  const float* bias_input;      ///< b: 3 hidden
  const float* bias_recurrent;  ///< c: 3 hidden
};

/// Where the gradients are written, shaped like the weights; null: not computed.
struct gru_gradient {
  float* input = nullptr;
  float* recurrent = nullptr;
  float* bias_input = nullptr;
  float* bias_recurrent = nullptr;
};

/// States kept from forward for backward; all matrices have a row for each element of the packing.
struct gru_states {
  tensor_view gates;      ///< rows x 3 hidden: r, z, n
  tensor_view candidate;  ///< rows x hidden: U_n h + c_n
  tensor_view before;     ///< rows x hidden: h
  tensor_view after;      ///< rows x hidden: h', the layer's output
};

/// x: packed.rows() x in. Sequences may be empty.
[[nodiscard]] gru_states gru_forward(const gru_weights& w, const packed_sequences& packed, const tensor_view& x,
                                     arena& memory);

/// Backpropagation through time. `d_after` (rows x hidden) = dL/dh' on entry, without the contributions of later steps;
/// x is the input of forward. Overwrites d_after, the states, the gradients of the weights, and d_x (rows x in) unless
/// its data is null.
void gru_backward(const gru_weights& w, const packed_sequences& packed, const tensor_view& x, const gru_states& states,
                  const tensor_view& d_after, const gru_gradient& gradient, const tensor_view& d_x, arena& memory);

}  // namespace furlong::models
