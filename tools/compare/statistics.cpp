#include "tools/compare/statistics.hpp"

#include <algorithm>
#include <boost/math/distributions/students_t.hpp>
#include <cmath>
#include <limits>

namespace furlong::tools {

estimate estimate_of(std::span<const double> values) {
  std::vector<double> finite;
  std::ranges::copy_if(values, std::back_inserter(finite), [](double v) { return std::isfinite(v); });
  estimate made;
  made.n = finite.size();
  made.mean = std::numeric_limits<double>::quiet_NaN();
  if (finite.empty()) return made;
  const auto count = static_cast<double>(made.n);
  double sum = 0.0;
  for (const double value : finite) sum += value;
  // Of equal values exactly the value, so that their spread is exactly 0.
  const bool constant = std::ranges::all_of(finite, [&](double v) { return v == finite.front(); });
  made.mean = constant ? finite.front() : sum / count;
  if (made.n < 2) return made;
  double squares = 0.0;
  for (const double value : finite) squares += (value - made.mean) * (value - made.mean);
  made.sd = std::sqrt(squares / (count - 1.0));
  if (made.is_constant()) return made;
  constexpr double outside = 0.05;
  const boost::math::students_t distribution(count - 1.0);
  const double half =
      boost::math::quantile(boost::math::complement(distribution, outside / 2)) * *made.sd / std::sqrt(count);
  made.low = made.mean - half;
  made.high = made.mean + half;
  return made;
}

estimate paired_difference(std::span<const seeded_value> a, std::span<const seeded_value> b) {
  const auto first_of = [](std::span<const seeded_value> values, const std::string& seed) {
    return std::ranges::find_if(values, [&](const auto& value) { return value.first == seed; });
  };
  std::vector<double> differences;
  double largest = 0.0;
  for (auto position = a.begin(); position != a.end(); ++position) {
    if (first_of(a, position->first) != position) continue;
    const auto counterpart = first_of(b, position->first);
    if (counterpart == b.end() || !std::isfinite(position->second) || !std::isfinite(counterpart->second)) continue;
    differences.push_back(counterpart->second - position->second);
    largest = std::max({largest, std::abs(position->second), std::abs(counterpart->second)});
  }
  if (differences.empty()) return estimate_of({});
  const auto [least, most] = std::ranges::minmax(differences);
  constexpr double rounding = 1e-12;
  if (most - least <= rounding * largest) std::ranges::fill(differences, differences.front());
  return estimate_of(differences);
}

}  // namespace furlong::tools
