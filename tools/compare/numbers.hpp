// Figures as texts, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace furlong::tools {

/// How a kind of figure is written.
enum class number_style : std::uint8_t {
  plain,     ///< four significant digits or so: 0.9042
  percent,   ///< of a share: 0.433 is 43.3 %
  accuracy,  ///< a percentage with two decimals
  count,     ///< 12,345
  mean,      ///< of counts: 12,345, 97.4, 0.25
  rate,      ///< a second: 12,345, 2.4, 0.0625
  bytes,     ///< 12.3 MB, decimal units
  seconds    ///< a duration: 2 h 07 min
};

[[nodiscard]] constexpr bool is_percentage(number_style style) {
  return style == number_style::percent || style == number_style::accuracy;
}
/// With a fixed number of digits after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// A figure of a style, with its unit; the absent one is a dash.
[[nodiscard]] std::string written(std::optional<double> value, number_style style);
/// A mean and a standard deviation, to as many decimals, and what stands behind both.
struct spread_text {
  std::string mean;
  std::string spread;  ///< empty without one
  std::string unit;    ///< " %", or empty where each has its own
};
[[nodiscard]] spread_text written_spread(double mean, std::optional<double> sd, number_style style);
/// 12,345
[[nodiscard]] std::string grouped(std::uint64_t count);
/// "0.42 s", "3 min 05 s", "2 h 07 min", "3 d 04 h".
[[nodiscard]] std::string duration(double seconds);
/// The sum of all counts.
[[nodiscard]] std::uint64_t sum_of(const std::vector<std::pair<std::string, std::uint64_t>>& counts);
/// "1 round", "2 rounds".
[[nodiscard]] std::string counted(std::uint64_t count, const std::string& noun);
/// The parts that are not empty.
[[nodiscard]] std::string joined(const std::vector<std::string>& parts, std::string_view between = " ");

}  // namespace furlong::tools
