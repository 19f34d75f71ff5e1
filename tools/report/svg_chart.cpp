#include "tools/report/detail/svg_chart.hpp"

#include <algorithm>
#include <array>

#include "tools/report/detail/html.hpp"
#include "tools/report/detail/svg_frame.hpp"

namespace furlong::tools {

namespace {

constexpr std::array<const char*, 4> dashes{"", "7 4", "2 4", "9 4 2 4"};

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
  if (of.x_style == number_style::bytes || of.x_style == number_style::seconds) first = 0.0;
  return {make_axis(first, last, of.x_style, of.x_style == number_style::bytes ? 4 : 6, false),
          make_axis(shown.low, shown.high, of.y_style, 5, true)};
}

std::string path_of(const series& points, const frame& in) {
  // Far outside the frame, coordinates only have to keep their direction.
  const auto near = [](double at) { return fixed(std::clamp(at, -20.0 * plot_height, 20.0 * plot_height), 1); };
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
    if (y < plot_top - 0.5 || y > plot_height - plot_bottom + 0.5) continue;
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

// Where the start of the curves lies, if not in the frame: told at the side it left by, which is free at its far end.
std::string off_scale(const chart& of, const frame& in) {
  std::vector<const series*> all;
  for (const auto& line : of.curves) all.push_back(&line.points);
  const auto whole = all_of(all);
  const auto tell = [&](double y, const std::string& text) {
    return "<text class=\"off\" x=\"" + fixed(plot_width - plot_right, 0) + "\" y=\"" + fixed(y, 0) +
           "\" text-anchor=\"end\">" + escape(text) + "</text>";
  };
  std::string out;
  if (whole.high > in.y.high) out += tell(plot_top + 14, "\u2191 starts at up to " + written(whole.high, of.y_style));
  if (whole.low < in.y.low)
    out += tell(plot_height - plot_bottom - 8, "\u2193 starts as low as " + written(whole.low, of.y_style));
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
  auto in = frame_of(of);
  thin_out(in.x);
  std::string out = open_figure({of.title, of.title + " by " + of.x_label, describe(of), of.x_label, legend(of)}, id) +
                    grid(in, of.x_label) + "<g clip-path=\"url(#" + figure_name(id) + "c)\">";
  for (const auto& line : of.curves)
    if (!line.points.empty()) out += draw(line, of, in);
  return out + "</g>" + off_scale(of, in) + "</svg></figure>\n";
}

}  // namespace furlong::tools
