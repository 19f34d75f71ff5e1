// A plot of points in the plane, coloured by what they belong to, as one inline SVG in a <figure>, with its legend.
#pragma once

#include <string>
#include <vector>

#include "tools/report/detail/series.hpp"

namespace furlong::tools {

struct scatter_group {
  std::string name;
  std::size_t colour = 0;  ///< of the palette
  std::vector<point> points;
};

/// The axes have no scale: places say who is near whom, and nothing else.
struct scatter {
  std::string title;
  std::vector<scatter_group> groups;  ///< at least one point in all
  std::string note;                   ///< under the plot; may be empty
};

/// The plot. `id` makes the names inside unique on the page.
[[nodiscard]] std::string render(const scatter& of, std::size_t id);

}  // namespace furlong::tools
