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

}  // namespace furlong::tools
