// Means over seeds with their intervals, and differences that are paired by seed.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace furlong::tools {

/// A mean of `n` values. The interval is that of Student's t with n - 1 degrees of freedom at 95 %:
/// mean +- t(0.975, n - 1) sd / sqrt(n), which assumes values from a normal distribution. Equal values have none: they
/// do not tell how much others would differ.
struct estimate {
  std::size_t n = 0;
  double mean = 0.0;         ///< NaN of no value
  std::optional<double> sd;  ///< of the sample (divisor n - 1); empty below two values
  std::optional<double> low, high;

  /// True of several values that are equal.
  [[nodiscard]] bool is_constant() const { return sd == 0.0; }
  /// True if the interval exists and does not contain zero.
  [[nodiscard]] bool excludes_zero() const { return low && (*low > 0.0 || *high < 0.0); }
};

/// Values that are not finite are left out, and not counted.
[[nodiscard]] estimate estimate_of(std::span<const double> values);

/// A figure of a run with that seed, as written in its scenario.
using seeded_value = std::pair<std::string, double>;

/// The estimate of the differences b - a within the seeds that both have; those that are equal up to rounding are
/// equal. Of repeated seeds the first counts; a seed with a value that is not finite is left out.
[[nodiscard]] estimate paired_difference(std::span<const seeded_value> a, std::span<const seeded_value> b);

}  // namespace furlong::tools
