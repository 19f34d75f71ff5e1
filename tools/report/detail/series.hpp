// Curves as lists of points, and what makes long ones fit to draw.
#pragma once

#include <cstddef>
#include <vector>

namespace furlong::tools {

struct point {
  double x = 0.0;
  double y = 0.0;
  double low = 0.0;  ///< the interval of a mean; equal to `high` where it has none
  double high = 0.0;
  friend bool operator==(const point&, const point&) = default;
};
/// Ascending in x; all values finite.
using series = std::vector<point>;

/// At most about `limit` of the points: the first and the last, and of every stretch between its lowest and highest, so
/// that no peak is lost. Shorter series come back as they are. limit >= 4.
[[nodiscard]] series decimate(const series& points, std::size_t limit = 500);

/// The mean over a window centred at each point, smaller at the ends. window >= 1.
[[nodiscard]] series smooth(const series& points, std::size_t window);

}  // namespace furlong::tools
