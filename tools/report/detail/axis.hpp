// Axes with ticks at round numbers.
#pragma once

#include <string>
#include <vector>

#include "tools/report/detail/numbers.hpp"
#include "tools/report/detail/series.hpp"

namespace furlong::tools {

struct tick {
  double at = 0.0;
  std::string label;
  bool minor = false;  ///< its label is left out where letters are large
};

/// The part of a line of numbers that a plot shows. low < high.
struct axis {
  double low = 0.0;
  double high = 1.0;
  std::vector<tick> ticks;  ///< ascending, within [low, high]

  /// Where a value lies: 0 at low, 1 at high.
  [[nodiscard]] double place(double value) const { return (value - low) / (high - low); }
};

/// An axis over [low, high] with about `wanted` ticks, labelled in one unit with as many decimals as their step needs.
/// `widen` moves the ends out to ticks. An empty range is widened around its value.
[[nodiscard]] axis make_axis(double low, double high, number_style style, int wanted, bool widen);

struct range {
  double low = 0.0;
  double high = 1.0;
};
/// Of all y values; 0 to 1 without points.
[[nodiscard]] range all_of(const std::vector<const series*>& curves);
/// The range of y worth drawing. A learning curve often starts far off: where the points after the first tenth of each
/// span less than a third of all, the range is theirs.
[[nodiscard]] range settled_part(const std::vector<const series*>& curves);

}  // namespace furlong::tools
