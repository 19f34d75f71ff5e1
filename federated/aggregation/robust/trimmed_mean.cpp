// Each value without the f lowest and the f highest (Yin et al., "Byzantine-robust distributed learning: towards
// optimal statistical rates", 2018).
#include <algorithm>

#include "federated/aggregation/robust/rules.hpp"

namespace furlong::federated::robust {

namespace {

/// Adds the kept values in the order of clients, so that no algorithm of a library decides on the last bits.
double mean_of_middle(std::span<double> values, std::size_t bad) {
  thread_local std::vector<double> sorted;
  sorted.assign(values.begin(), values.end());
  const auto first = sorted.begin() + static_cast<std::ptrdiff_t>(bad);
  const auto last = sorted.end() - static_cast<std::ptrdiff_t>(bad) - 1;
  std::nth_element(sorted.begin(), first, sorted.end());
  std::nth_element(first, last, sorted.end());
  const double low = *first;
  const double high = *last;
  if (low == high) return low;
  const auto kept = values.size() - 2 * bad;
  double sum = 0.0;
  std::size_t inside = 0;
  std::size_t below = 0;  // the lowest kept value or less
  for (const double value : values) {
    below += value <= low ? 1 : 0;
    if (value <= low || value >= high) continue;
    sum += value;
    ++inside;
  }
  const auto lowest = below - bad;
  const auto highest = kept - inside - lowest;
  return (sum + static_cast<double>(lowest) * low + static_cast<double>(highest) * high) / static_cast<double>(kept);
}

}  // namespace

robust_rule trimmed_mean() {
  return {.kind = "trimmed-mean",
          .doc = "The mean of each value without the f lowest and the f highest (Yin et al. 2018).",
          .combine = mean_of_middle};
}

}  // namespace furlong::federated::robust
