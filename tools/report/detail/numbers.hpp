// Figures as texts, the same in every locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace furlong::tools {

/// How a kind of figure is written.
enum class number_style : std::uint8_t {
  plain,    ///< four significant digits or so: 0.9042
  percent,  ///< of a share: 0.433 is 43.3 %
  count,    ///< 12,345
  bytes     ///< 12.3 MB, decimal units
};

/// With a fixed number of digits after the point.
[[nodiscard]] std::string fixed(double value, int digits);
/// A figure of a style, with its unit; the absent one is a dash.
[[nodiscard]] std::string written(std::optional<double> value, number_style style);
/// 12,345
[[nodiscard]] std::string grouped(std::uint64_t count);
/// "0.42 s", "3 min 05 s", "2 h 07 min".
[[nodiscard]] std::string duration(double seconds);
/// "1 round", "2 rounds".
[[nodiscard]] std::string counted(std::uint64_t count, const std::string& noun);

/// A decimal unit of bytes and its size.
struct byte_unit {
  const char* name;
  double size;
};
/// The largest unit that a number of bytes fills.
[[nodiscard]] byte_unit unit_for(double bytes);

}  // namespace furlong::tools
