#include "scenarios/data/normal_scores.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <numbers>
#include <numeric>

namespace furlong::scenarios {

namespace {

/// The standard normal quantile of p in (0, 1): the estimate of Abramowitz and Stegun 26.2.23, then Newton steps on
/// erfc.
double normal_quantile(double p) {
  const double tail = std::min(p, 1.0 - p);
  const double t = std::sqrt(-2.0 * std::log(tail));
  double z = t - (2.515517 + t * (0.802853 + t * 0.010328)) / (1.0 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  for (int step = 0; step < 3; ++step) {
    const double density = std::exp(-0.5 * z * z) / std::sqrt(2.0 * std::numbers::pi);
    z += (0.5 * std::erfc(z / std::numbers::sqrt2) - tail) / density;
  }
  return p < 0.5 ? -z : z;
}

}  // namespace

std::vector<float> normal_scores(const std::vector<double>& values) {
  std::vector<std::uint32_t> ranked(values.size());
  std::iota(ranked.begin(), ranked.end(), 0U);
  std::ranges::stable_sort(ranked, {}, [&](auto client) { return values[client]; });
  std::vector<float> scores(values.size());
  for (std::size_t rank = 0; rank < ranked.size(); ++rank)
    scores[ranked[rank]] =
        static_cast<float>(normal_quantile((static_cast<double>(rank) + 0.5) / static_cast<double>(ranked.size())));
  return scores;
}

}  // namespace furlong::scenarios
