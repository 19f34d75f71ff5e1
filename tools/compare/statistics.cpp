#include "tools/compare/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace furlong::tools {

estimate estimate_of(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  estimate of;
  of.n = finite.size();
  of.mean = std::numeric_limits<double>::quiet_NaN();
  if (finite.empty()) return of;
  const auto count = static_cast<double>(of.n);
  double sum = 0.0;
  for (const double value : finite) sum += value;
  // Of equal values exactly the value, so that their spread is exactly 0.
  const bool constant = std::ranges::all_of(finite, [&](double v) { return v == finite.front(); });
  of.mean = constant ? finite.front() : sum / count;
  if (of.n < 2) return of;
  double squares = 0.0;
  for (const double value : finite) squares += (value - of.mean) * (value - of.mean);
  of.sd = std::sqrt(squares / (count - 1.0));
  if (of.is_constant()) return of;
  constexpr double outside = 0.05;
  const boost::math::students_t distribution(count - 1.0);
  const double half =
      boost::math::quantile(boost::math::complement(distribution, outside / 2)) * *of.sd / std::sqrt(count);
  of.low = of.mean - half;
  of.high = of.mean + half;
  return of;
}

estimate paired_difference(std::span<const seeded_value> a, std::span<const seeded_value> b) {
  const auto first_of = [](std::span<const seeded_value> values, const std::string& seed) {
    return std::ranges::find_if(values, [&](const auto& one) { return one.first == seed; });
  };
  std::vector<double> differences;
  double largest = 0.0;
  for (auto at = a.begin(); at != a.end(); ++at) {
    if (first_of(a, at->first) != at) continue;
    const auto other = first_of(b, at->first);
    if (other == b.end() || !std::isfinite(at->second) || !std::isfinite(other->second)) continue;
    differences.push_back(other->second - at->second);
    largest = std::max({largest, std::abs(at->second), std::abs(other->second)});
  }
  if (differences.empty()) return estimate_of({});
  const auto [least, most] = std::ranges::minmax(differences);
  constexpr double rounding = 1e-12;
  if (most - least <= rounding * largest) std::ranges::fill(differences, differences.front());
  return estimate_of(differences);
}

}  // namespace furlong::tools
