#include "federated/privacy/gaussian.hpp"

#include <cmath>
#include <limits>
#include <numbers>

namespace furlong::federated::privacy {

double normal_tail(double x) { return 0.5 * std::erfc(x / std::numbers::sqrt2); }

double log_normal_tail(double x) {
  constexpr double far = 25.0;  // above it the first terms of the asymptotic series are exact to the last bits
  if (x < far) return std::log(normal_tail(x));
  const double square = 1.0 / (x * x);
  double series = 1.0;
  for (int k = 5; k > 0; --k) series = 1.0 - (2 * k - 1) * square * series;
  return -0.5 * x * x - std::log(x) - 0.5 * std::log(2.0 * std::numbers::pi) + std::log(series);
}

double gaussian_delta(double mu, double epsilon) {
  if (mu <= 0.0) return 0.0;
  const double at = epsilon / mu;
  const double first = log_normal_tail(at - mu / 2);
  const double second = epsilon + log_normal_tail(at + mu / 2);  // never above the first
  return std::exp(first) * -std::expm1(std::fmin(second - first, 0.0));
}

double gaussian_epsilon(double mu, double delta) {
  if (!std::isfinite(mu)) return std::numeric_limits<double>::infinity();
  if (gaussian_delta(mu, 0.0) <= delta) return 0.0;
  double low = 0.0;
  double high = 1.0;
  while (gaussian_delta(mu, high) > delta) high *= 2.0;
  for (int i = 0; i < 100 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (gaussian_delta(mu, middle) > delta ? low : high) = middle;
  }
  return high;
}

}  // namespace furlong::federated::privacy
