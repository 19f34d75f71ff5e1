// An affine layer: y = x W' + b (Rumelhart, Hinton, Williams 1986, with its gradients). Pure and thread-safe; arguments
// do not overlap.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

struct dense_weights {
  tensor_view weight;           ///< out x in
  const float* bias = nullptr;  ///< out; null: none
};

/// Where the gradients are written; null: not computed.
struct dense_gradient {
  float* weight = nullptr;
  float* bias = nullptr;
};

/// x: rows x in; y: rows x out, overwritten.
void dense_forward(const dense_weights& w, const tensor_view& x, const tensor_view& y);

/// From d_y = dL/dy (rows x out): overwrites the gradients of the weights, of the same shapes, and d_x (rows x in)
/// unless its data is null.
void dense_backward(const dense_weights& w, const tensor_view& x, const tensor_view& d_y,
                    const dense_gradient& gradient, const tensor_view& d_x);

}  // namespace furlong::models
