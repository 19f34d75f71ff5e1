#include "federated/aggregation/robust/values.hpp"

#include <numeric>

namespace furlong::federated::robust {

double median_of(std::span<const double> sorted) {
  const auto middle = sorted.size() / 2;
  return sorted.size() % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2.0;
}

double mean_of(std::span<const double> sorted) {
  return std::accumulate(sorted.begin(), sorted.end(), 0.0) / static_cast<double>(sorted.size());
}

double mean_near_median(std::span<const double> sorted, std::size_t kept) {
  const double median = median_of(sorted);
  while (sorted.size() > kept)
    sorted = sorted.back() - median >= median - sorted.front() ? sorted.first(sorted.size() - 1) : sorted.subspan(1);
  return mean_of(sorted);
}

}  // namespace furlong::federated::robust
