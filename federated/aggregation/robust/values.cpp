#include "federated/aggregation/robust/values.hpp"

#include <algorithm>
#include <numeric>

namespace furlong::federated::robust {

double median_of(std::span<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::ranges::nth_element(values, middle);
  if (values.size() % 2 == 1) return *middle;
  return (*std::max_element(values.begin(), middle) + *middle) / 2.0;
}

double mean_near_median(std::span<double> values, std::size_t kept) {
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2.0;
  while (values.size() > kept)
    values = values.back() - median >= median - values.front() ? values.first(values.size() - 1) : values.subspan(1);
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(kept);
}

}  // namespace furlong::federated::robust
