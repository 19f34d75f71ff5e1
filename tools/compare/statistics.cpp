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
  for (auto at = a.begin(); at != a.end(); ++at) {
    if (first_of(a, at->first) != at) continue;
    if (const auto other = first_of(b, at->first); other != b.end()) differences.push_back(other->second - at->second);
  }
  return estimate_of(differences);
}

}  // namespace furlong::tools
