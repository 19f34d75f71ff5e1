// The point with the least sum of distances to the updates, by smoothed Weiszfeld steps (Pillutla et al., "Robust
// aggregation for federated learning", 2022, algorithm 2): z = sum w_i x_i / sum w_i with w_i = 1 / max(nu, |x_i - z|),
// from z = 0. All z are combinations of the updates, so the distances follow from the products of updates.
#include <algorithm>
#include <cmath>

#include "federated/aggregation/robust/rules.hpp"

namespace furlong::federated::robust {

namespace {

/// |x_i - z|^2 for each i, where z = sum_j shares[j] x_j.
std::vector<double> squared_distances(const cohort& rows, std::span<const double> shares) {
  const std::size_t n = rows.count();
  std::vector<double> made(n);
  double of_point = 0.0;
  for (std::size_t i = 0; i < n; ++i) {
    double with_point = 0.0;
    for (std::size_t j = 0; j < n; ++j) with_point += shares[j] * rows.product(i, j);
    of_point += shares[i] * with_point;
    made[i] = rows.product(i, i) - 2.0 * with_point;
  }
  for (auto& distance : made) distance = std::max(0.0, distance + of_point);
  return made;
}

std::vector<double> weiszfeld(const cohort& rows, std::size_t /*bad*/, const option_values& options) {
  const double least = options.number("smoothing");
  std::vector<double> shares(rows.count(), 0.0);
  for (auto step = options.integer("steps"); step > 0; --step) {
    const auto distances = squared_distances(rows, shares);
    double total = 0.0;
    for (std::size_t i = 0; i < shares.size(); ++i) total += shares[i] = 1.0 / std::max(least, std::sqrt(distances[i]));
    for (auto& share : shares) share /= total;
  }
  return shares;
}

}  // namespace

robust_rule geometric_median() {
  return {.kind = "geometric-median",
          .doc = "The point with the least sum of distances to the updates (RFA; Pillutla et al. 2022).",
          .options = {number_option("smoothing", 0.1, "Distances below this count as this: nu.", {0.0, 1e300, true}),
                      integer_option("steps", 3, "Weiszfeld steps.", {1, 1000})},
          .weigh = weiszfeld};
}

}  // namespace furlong::federated::robust
