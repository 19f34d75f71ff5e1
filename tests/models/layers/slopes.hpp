// Gradients of layers against finite differences.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <span>
#include <string>

namespace furlong::tests {

/// Checks that `written` is the slope of loss() (a double, from float32 arithmetic) in each of `values`.
template <class Loss>
void check_slopes(const std::string& name, std::span<float> values, std::span<const float> written, const Loss& loss) {
  BOOST_REQUIRE(values.size() == written.size());
  for (std::size_t i = 0; i < values.size(); ++i) {
    const float at = values[i];
    values[i] = at + 0.01F;
    const double high = values[i];
    const double above = loss();
    values[i] = at - 0.01F;
    const double slope = (above - loss()) / (high - static_cast<double>(values[i]));
    values[i] = at;
    BOOST_TEST(std::abs(slope - static_cast<double>(written[i])) < 3e-4 * (1 + std::abs(slope)),
               name << "[" << i << "]: " << slope << " against " << written[i]);
  }
}

/// sum of factors[i] * values[i]: a loss whose gradient in the values is `factors`.
[[nodiscard]] inline double weighted_sum(std::span<const float> factors, const float* values) {
  double sum = 0.0;
  for (std::size_t i = 0; i < factors.size(); ++i)
    sum += static_cast<double>(factors[i]) * static_cast<double>(values[i]);
  return sum;
}

}  // namespace furlong::tests
