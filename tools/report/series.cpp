#include "tools/report/detail/series.hpp"

#include <algorithm>

namespace furlong::tools {

series decimate(const series& points, std::size_t limit) {
  if (points.size() <= limit) return points;
  const std::size_t inner = points.size() - 2;
  const std::size_t stretches = std::max<std::size_t>(1, (limit - 2) / 2);
  series kept{points.front()};
  kept.reserve(limit);
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto first = points.begin() + static_cast<std::ptrdiff_t>(1 + i * inner / stretches);
    const auto last = points.begin() + static_cast<std::ptrdiff_t>(1 + (i + 1) * inner / stretches);
    if (first == last) continue;
    auto [low, high] = std::minmax_element(first, last, [](const point& a, const point& b) { return a.y < b.y; });
    if (high < low) std::swap(low, high);
    kept.push_back(*low);
    if (low->y != high->y) kept.push_back(*high);
  }
  kept.push_back(points.back());
  return kept;
}

series smooth(const series& points, std::size_t window) {
  std::vector<double> sums{0.0};
  sums.reserve(points.size() + 1);
  for (const auto& p : points) sums.push_back(sums.back() + p.y);
  series out;
  out.reserve(points.size());
  for (std::size_t i = 0; i < points.size(); ++i) {
    // At the start the same reach on both sides: the steep part of a curve must not be pulled down. At the end only as
    // far forward as there are points: the last value is a mean, too.
    const std::size_t back = std::min((window - 1) / 2, i);
    const std::size_t forth = std::min(back, points.size() - 1 - i);
    const double sum = sums[i + forth + 1] - sums[i - back];
    out.push_back({points[i].x, sum / static_cast<double>(back + forth + 1)});
  }
  return out;
}

}  // namespace furlong::tools
