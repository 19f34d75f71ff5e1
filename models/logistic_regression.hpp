// Binary logistic regression on sparse features: log-odds = bias + sum of value * weight[feature].
// Tensors, in order: weight (features x 1), bias (1 x 1), and user_bias (1 x 1, optional): an intercept per client.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

[[nodiscard]] model_entry logistic_regression_entry();

}  // namespace furlong::models
