// The logistic function and its loss, for models whose output is a log-odds. Pure and thread-safe.
#pragma once

#include <algorithm>
#include <cmath>

namespace furlong::models {

/// 1 / (1 + exp(-odds))
[[nodiscard]] inline float sigmoid(float odds) { return 1.0F / (1.0F + std::exp(-odds)); }

/// Cross-entropy of a label y in {0, 1}: log(1 + exp(odds)) - y odds, without overflow.
[[nodiscard]] inline double logistic_loss(float odds, float y) {
  return std::max(odds, 0.0F) + std::log1p(std::exp(-std::abs(odds))) - y * odds;
}

}  // namespace furlong::models
