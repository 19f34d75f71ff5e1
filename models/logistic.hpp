// The logistic function and its loss, for models whose output is a log-odds. Pure and thread-safe.
#pragma once

#include <algorithm>
#include <cmath>

#include "base/exact_math.hpp"

namespace furlong::models {

/// 1 / (1 + exp(-odds))
[[nodiscard]] inline float sigmoid(float odds) { return static_cast<float>(1.0 / (1.0 + exact::exp(-double{odds}))); }

/// Cross-entropy of a label y in {0, 1}: log(1 + exp(odds)) - y odds, without overflow.
[[nodiscard]] inline double logistic_loss(float odds, float y) {
  return std::max(odds, 0.0F) + exact::log1p(exact::exp(-std::abs(double{odds}))) - y * odds;
}

}  // namespace furlong::models
