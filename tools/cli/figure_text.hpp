// Figures for people.
#pragma once

#include <cmath>
#include <fmt/format.h>
#include <string>

namespace furlong::tools {

/// With so many digits after the point; from 10^9 on, which only runs reach that diverge, as 2.54e+31.
[[nodiscard]] inline std::string figure_text(double figure, int digits) {
  constexpr double large = 1e9;
  return std::abs(figure) < large ? fmt::format("{:.{}f}", figure, digits) : fmt::format("{:.3g}", figure);
}

/// A number of something per second. Of centralized training the one client is all there is, and takes long.
[[nodiscard]] inline std::string rate_text(double rate) {
  return rate < 10 ? fmt::format("{:.2g}", rate) : fmt::format("{:.0f}", rate);
}

}  // namespace furlong::tools
