// The activation of hidden layers: max(0, x) (Nair and Hinton 2010). Pure and thread-safe.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

/// In place; any shape. NaN stays NaN.
void relu(const tensor_view& x);
/// d *= the slope where the activation's result was y: 1 where y > 0, else 0. The same shapes.
void relu_backward(const tensor_view& y, const tensor_view& d);

}  // namespace furlong::models
