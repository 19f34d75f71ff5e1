// A plot of upright bars, stacked where they have several parts, as one inline SVG in a <figure>, with its legend and a
// table of its values.
#pragma once

#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "tools/report/detail/numbers.hpp"

namespace furlong::tools {

/// A part of every bar: what its colour stands for.
struct bar_part {
  std::string name;
  std::size_t colour = 0;  ///< of the palette
  std::string total;       ///< in the legend, behind the name; may be empty
};

/// The value of a part that a bar does not have.
inline constexpr double no_value = std::numeric_limits<double>::quiet_NaN();

/// One bar.
struct bar {
  double from = 0.0;  ///< its place on the x axis; bars do not overlap and ascend
  double to = 1.0;
  std::string label;              ///< what stands there: "3\u20135"
  std::vector<double> values;     ///< a part each, >= 0 where they are stacked; no_value: none
  std::vector<std::string> more;  ///< further cells of its row in the table
};

/// What a plot of bars shows.
struct bar_chart {
  std::string title;
  std::string x_label;
  number_style y_style = number_style::plain;
  bool label_bars = false;  ///< the labels are ticks and values stand at the bars' ends; else x is a line of numbers
  std::optional<double> x_step;  ///< distance of the ticks on that line; empty: about six
  /// Bars begin at this value, up or down, and it is drawn as a line; then every bar has one part. Empty: they are
  /// stacked from 0.
  std::optional<double> base;
  std::string base_name;  ///< in the legend
  std::vector<bar_part> parts;
  std::vector<bar> bars;
  std::string value_head;               ///< not empty: the table has one column of this name for all parts
  std::vector<std::string> more_heads;  ///< of the further columns of the table
  std::string note;                     ///< under the plot; may be empty
};

/// The plot. `id` makes the names inside unique on the page. Parts that no bar has are left out of the legend.
[[nodiscard]] std::string render(const bar_chart& of, std::size_t id);

/// Whole numbers from `first` to `last` in at most about `most` stretches of equal width, the width 1, 2 or 5 times a
/// power of ten. Every stretch ends before the next begins.
struct stretch {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
};
[[nodiscard]] std::vector<stretch> stretches_of(std::uint64_t first, std::uint64_t last, std::size_t most = 60);
/// "7", or "7\u201312".
[[nodiscard]] std::string label_of(const stretch& of);

}  // namespace furlong::tools
