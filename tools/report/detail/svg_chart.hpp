// A line plot as one inline SVG in a <figure>, with its legend.
#pragma once

#include <string>
#include <vector>

#include "tools/report/detail/numbers.hpp"
#include "tools/report/detail/series.hpp"

namespace furlong::tools {

/// One line of a plot.
struct curve {
  std::string name;        ///< as in the legend, not escaped
  std::size_t colour = 0;  ///< of the palette; later turns through it get dashes
  series points;           ///< points that are not finite must be left out
  bool wide = false;       ///< a broad pale line, to lie under others
};

/// What a plot shows.
struct chart {
  std::string title;    ///< what is on the y axis
  std::string x_label;  ///< "round"
  number_style x_style = number_style::count;
  number_style y_style = number_style::plain;
  bool from_zero = false;  ///< y starts at 0 and nothing is cut off; else at what the curves need, see settled_part()
  bool noisy = false;      ///< draws the mean of a sliding window over the pale curve itself
  std::vector<curve> curves;
};

/// True when there is a line to draw: a curve of two points or more. One point is better told in a table.
[[nodiscard]] bool has_line(const chart& of);

/// True when the plot draws a curve's sliding mean: it is noisy, and long enough to need one.
[[nodiscard]] bool is_averaged(const curve& line, const chart& of);

/// The plot. `id` makes the names inside unique on the page. Long curves are decimated.
[[nodiscard]] std::string render(const chart& of, std::size_t id);

/// A small line in a curve's colour, as legends have it.
[[nodiscard]] std::string swatch(std::size_t colour, bool wide = false);

}  // namespace furlong::tools
