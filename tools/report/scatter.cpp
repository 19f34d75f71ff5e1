#include "tools/report/detail/scatter.hpp"

#include <algorithm>
#include <limits>

#include "tools/report/detail/html.hpp"
#include "tools/report/detail/numbers.hpp"
#include "tools/report/detail/svg_frame.hpp"

namespace furlong::tools {

namespace {

constexpr double height = plot_height + 120.0;
constexpr double bottom = 14.0;

/// One scale for both axes, the points in the middle.
class placement {
 public:
  explicit placement(const scatter& of) {
    constexpr double far = std::numeric_limits<double>::infinity();
    point low{far, far};
    point high{-far, -far};
    for (const auto& group : of.groups)
      for (const auto& p : group.points) {
        low = {std::min(low.x, p.x), std::min(low.y, p.y)};
        high = {std::max(high.x, p.x), std::max(high.y, p.y)};
      }
    centre_ = {(low.x + high.x) / 2, (low.y + high.y) / 2};
    const double room_x = plot_width - 2 * plot_right;
    const double room_y = height - plot_top - bottom;
    const double smallest = std::numeric_limits<double>::min();
    scale_ = std::min(room_x / std::max(high.x - low.x, smallest), room_y / std::max(high.y - low.y, smallest));
  }
  [[nodiscard]] std::string x(const point& p) const { return fixed(plot_width / 2 + (p.x - centre_.x) * scale_, 1); }
  [[nodiscard]] std::string y(const point& p) const {
    return fixed((plot_top + height - bottom) / 2 - (p.y - centre_.y) * scale_, 1);
  }

 private:
  point centre_;
  double scale_ = 1.0;
};

std::string describe(const scatter& of) {
  std::string text = "Points in the plane, by group: ";
  for (const auto& group : of.groups) text += group.name + " " + counted(group.points.size(), "point") + ". ";
  return text;
}

std::string legend(const scatter& of) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& group : of.groups) out += filled_entry(group.colour, group.name, grouped(group.points.size()));
  return out + "</ul>";
}

}  // namespace

std::string render(const scatter& of, std::size_t id) {
  const placement at(of);
  std::string out = open_figure({of.title, of.title, describe(of), "", legend(of)}, id, height);
  for (const auto& group : of.groups) {
    out += "<g fill-opacity=\".75\"" + fill_of(group.colour) + ">";
    for (const auto& p : group.points) out += "<circle cx=\"" + at.x(p) + "\" cy=\"" + at.y(p) + "\" r=\"2.4\"/>";
    out += "</g>\n";
  }
  out += "</svg>";
  if (!of.note.empty()) out += "<p class=\"hint\">" + escape(of.note) + "</p>";
  return out + "</figure>\n";
}

}  // namespace furlong::tools
