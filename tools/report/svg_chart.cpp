#include "tools/report/detail/svg_chart.hpp"

#include <algorithm>
#include <array>

#include "tools/report/detail/axis.hpp"
#include "tools/report/detail/html.hpp"

namespace furlong::tools {

namespace {

// In units of the view box. The page scales it; on phones the style sheet enlarges the letters, which the margins
// allow.
constexpr double width = 560.0;
constexpr double height = 280.0;
constexpr double left = 66.0;
constexpr double right = 14.0;
constexpr double top = 12.0;
constexpr double bottom = 44.0;
constexpr std::size_t palette = 8;  // colours c0 to c7 of the style sheet
constexpr std::array<const char*, 4> dashes{"", "7 4", "2 4", "9 4 2 4"};

struct frame {
  axis x;
  axis y;
  [[nodiscard]] double px(double value) const { return left + x.place(value) * (width - left - right); }
  [[nodiscard]] double py(double value) const { return height - bottom - y.place(value) * (height - top - bottom); }
};

frame frame_of(const chart& of) {
  std::vector<const series*> all;
  double first = 0.0;
  double last = 0.0;
  bool any = false;
  for (const auto& line : of.curves) {
    if (line.points.empty()) continue;
    all.push_back(&line.points);
    first = any ? std::min(first, line.points.front().x) : line.points.front().x;
    last = any ? std::max(last, line.points.back().x) : line.points.back().x;
    any = true;
  }
  const auto shown = of.from_zero ? range{0.0, all_of(all).high} : settled_part(all);
  if (of.x_style == number_style::bytes) first = 0.0;
  return {make_axis(first, last, of.x_style, of.x_style == number_style::bytes ? 4 : 6, false),
          make_axis(shown.low, shown.high, of.y_style, 5, true)};
}

std::string path_of(const series& points, const frame& in) {
  // Far outside the frame, coordinates only have to keep their direction.
  const auto near = [](double at) { return fixed(std::clamp(at, -20.0 * height, 20.0 * height), 1); };
  std::string path;
  for (const auto& p : points) path += (path.empty() ? "M" : "L") + near(in.px(p.x)) + " " + near(in.py(p.y));
  return path;
}

std::string style_of(std::size_t colour) {
  const std::string dash = dashes[colour / palette % dashes.size()];
  return " stroke=\"var(--c" + std::to_string(colour % palette) + ")\"" +
         (dash.empty() ? "" : " stroke-dasharray=\"" + dash + "\"");
}

std::string dots(const series& points, const frame& in, std::size_t colour) {
  std::string out;
  for (const auto& p : points) {
    const double y = in.py(p.y);
    if (y < top - 0.5 || y > height - bottom + 0.5) continue;
    out += "<circle cx=\"" + fixed(in.px(p.x), 1) + "\" cy=\"" + fixed(y, 1) + "\" r=\"2.6\" fill=\"var(--c" +
           std::to_string(colour % palette) + ")\"/>";
  }
  return out;
}

// What the script shows beside the pointer: pixels and texts are its input, so that figures read as everywhere else.
std::string hover_data(const curve& line, const series& points, const chart& of, const frame& in) {
  std::string data;
  for (const auto& p : points)
    data += (data.empty() ? "" : "|") + fixed(in.px(p.x), 1) + ";" + written(p.x, of.x_style) + ";" +
            written(p.y, of.y_style);
  return "<g class=\"curve\" data-name=\"" + escape(line.name) + "\" data-colour=\"" +
         std::to_string(line.colour % palette) + "\" data-points=\"" + escape(data) + "\">";
}

// What is drawn strongly: the curve, or its sliding mean.
series main_line(const curve& line, const chart& of) {
  return is_averaged(line, of) ? smooth(line.points, line.points.size() / 25) : line.points;
}

std::string draw(const curve& line, const chart& of, const frame& in) {
  constexpr std::size_t few = 30;  // points that get a dot each
  const auto main = decimate(main_line(line, of));
  std::string out = hover_data(line, main, of, in);
  if (is_averaged(line, of))
    out += "<path class=\"pale\" d=\"" + path_of(decimate(line.points), in) + "\"" + style_of(line.colour) + "/>";
  out += std::string("<path class=\"") + (line.wide ? "wide" : "line") + "\" d=\"" + path_of(main, in) + "\"" +
         style_of(line.colour) + "/>";
  if (line.points.size() <= few && !line.wide) out += dots(line.points, in, line.colour);
  return out + "</g>\n";
}

std::string grid(const chart& of, const frame& in) {
  const std::string floor = fixed(height - bottom, 1);
  std::string out = "<g class=\"grid\">";
  for (const auto& mark : in.y.ticks) {
    const auto y = fixed(in.py(mark.at), 1);
    out += "<line x1=\"" + fixed(left, 0) + "\" x2=\"" + fixed(width - right, 0) + "\" y1=\"" + y + "\" y2=\"" + y +
           "\"/><text x=\"" + fixed(left - 8, 0) + "\" y=\"" + y + "\" dy=\".32em\" text-anchor=\"end\">" +
           escape(mark.label) + "</text>";
  }
  for (const auto& mark : in.x.ticks) {
    const double x = in.px(mark.at);
    // A label at the right end would be cut off.
    const char* anchor = x > width - right - 12 ? "end" : "middle";
    out += "<line class=\"tick\" x1=\"" + fixed(x, 1) + "\" x2=\"" + fixed(x, 1) + "\" y1=\"" + floor + "\" y2=\"" +
           fixed(height - bottom + 5, 1) + "\"/><text x=\"" + fixed(anchor[0] == 'e' ? width - 2 : x, 1) + "\" y=\"" +
           fixed(height - bottom + 18, 1) + "\" text-anchor=\"" + anchor + "\">" + escape(mark.label) + "</text>";
  }
  out += "<line class=\"base\" x1=\"" + fixed(left, 0) + "\" x2=\"" + fixed(width - right, 0) + "\" y1=\"" + floor +
         "\" y2=\"" + floor + "\"/>";
  return out + "<text class=\"name\" x=\"" + fixed((left + width - right) / 2, 0) + "\" y=\"" + fixed(height - 6, 0) +
         "\" text-anchor=\"middle\">" + escape(of.x_label) + "</text></g>\n";
}

// Where the start of the curves lies, if not in the frame: told at the side it left by, which is free at its far end.
std::string off_scale(const chart& of, const frame& in) {
  std::vector<const series*> all;
  for (const auto& line : of.curves) all.push_back(&line.points);
  const auto whole = all_of(all);
  const auto tell = [&](double y, const std::string& text) {
    return "<text class=\"off\" x=\"" + fixed(width - right, 0) + "\" y=\"" + fixed(y, 0) + "\" text-anchor=\"end\">" +
           escape(text) + "</text>";
  };
  std::string out;
  if (whole.high > in.y.high) out += tell(top + 14, "\u2191 starts at up to " + written(whole.high, of.y_style));
  if (whole.low < in.y.low)
    out += tell(height - bottom - 8, "\u2193 starts as low as " + written(whole.low, of.y_style));
  return out;
}

// The plot in words, for those who cannot see it.
std::string describe(const chart& of) {
  std::string text;
  for (const auto& line : of.curves) {
    if (line.points.empty()) continue;
    const auto whole = all_of({&line.points});
    text += line.name + ": " + counted(line.points.size(), "point") + ", first " +
            written(line.points.front().y, of.y_style) + ", last " + written(line.points.back().y, of.y_style) +
            ", lowest " + written(whole.low, of.y_style) + ", highest " + written(whole.high, of.y_style) + ". ";
  }
  return text;
}

std::string legend(const chart& of) {
  std::string out = "<ul class=\"legend\">";
  for (const auto& line : of.curves) {
    if (line.points.empty()) continue;
    out += "<li>" + swatch(line.colour, line.wide) + "<span>" + escape(line.name) + "</span> <b>" +
           escape(written(main_line(line, of).back().y, of.y_style)) + "</b></li>";
  }
  return out + "</ul>";
}

}  // namespace

bool has_line(const chart& of) {
  return std::any_of(of.curves.begin(), of.curves.end(), [](const auto& line) { return line.points.size() > 1; });
}

bool is_averaged(const curve& line, const chart& of) { return of.noisy && line.points.size() >= 60; }

std::string swatch(std::size_t colour, bool wide) {
  return "<svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"" +
         std::string(wide ? "wide" : "line") + "\" d=\"M1 4H25\"" + style_of(colour) + "/></svg>";
}

std::string render(const chart& of, std::size_t id) {
  const auto in = frame_of(of);
  const auto name = "p" + std::to_string(id);
  const auto title = of.title + " by " + of.x_label;
  std::string out = "<figure class=\"plot\"><figcaption>" + escape(of.title) + "</figcaption>" + legend(of);
  out += "<svg class=\"chart\" viewBox=\"0 0 " + fixed(width, 0) + " " + fixed(height, 0) +
         "\" role=\"img\" data-x=\"" + escape(of.x_label) + "\" aria-labelledby=\"" + name + "t " + name +
         "d\"><title id=\"" + name + "t\">" + escape(title) + "</title><desc id=\"" + name + "d\">" +
         escape(describe(of)) + "</desc>\n";
  out += "<defs><clipPath id=\"" + name + "c\"><rect x=\"" + fixed(left - 4, 0) + "\" y=\"" + fixed(top - 4, 0) +
         "\" width=\"" + fixed(width - left - right + 8, 0) + "\" height=\"" + fixed(height - top - bottom + 6, 0) +
         "\"/></clipPath></defs>\n" + grid(of, in) + "<g clip-path=\"url(#" + name + "c)\">";
  for (const auto& line : of.curves)
    if (!line.points.empty()) out += draw(line, of, in);
  return out + "</g>" + off_scale(of, in) + "</svg></figure>\n";
}

}  // namespace furlong::tools
