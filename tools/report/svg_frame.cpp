#include "tools/report/detail/svg_frame.hpp"

#include <algorithm>

#include "tools/report/detail/html.hpp"

namespace furlong::tools {

namespace {

std::size_t letters_of(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

// A label at the right end would be cut off if it were centred.
bool ends_at_edge(double x) { return x > plot_width - plot_right - 12; }

// Whether two of the labels, of which every n-th stays, would touch.
bool collide(const axis& x, std::size_t every, double letter) {
  const auto half_of = [&](const tick& mark) { return static_cast<double>(letters_of(mark.label)) * letter / 2; };
  const auto centre_of = [&](const tick& mark) {
    const double at = plot_left + x.place(mark.at) * (plot_width - plot_left - plot_right);
    return ends_at_edge(at) ? plot_width - 2 - half_of(mark) : at;
  };
  for (std::size_t i = every; i < x.ticks.size(); i += every) {
    const auto& before = x.ticks[i - every];
    const auto& mark = x.ticks[i];
    if (half_of(before) + half_of(mark) + letter / 2 > centre_of(mark) - centre_of(before)) return true;
  }
  return false;
}

}  // namespace

void thin_out(axis& x) {
  constexpr double letter = 6.9;        // wide, at most
  constexpr double large_letter = 9.8;  // on phones
  std::size_t every = 1;
  while (collide(x, every, letter)) ++every;
  std::size_t in_large = every;
  while (collide(x, in_large, large_letter)) in_large += every;
  std::vector<tick> kept;
  for (std::size_t i = 0; i < x.ticks.size(); i += every) {
    kept.push_back(x.ticks[i]);
    kept.back().minor = i % in_large != 0;
  }
  x.ticks = std::move(kept);
}

std::string figure_name(std::size_t id) { return "p" + std::to_string(id); }

std::string open_figure(const figure_texts& of, std::size_t id, double height, double top) {
  const auto name = figure_name(id);
  std::string out = "<figure class=\"plot\"><figcaption>" + escape(of.title) + "</figcaption>" + of.legend_html;
  out += "<svg class=\"chart\" viewBox=\"0 0 " + fixed(plot_width, 0) + " " + fixed(height, 0) +
         "\" role=\"img\" data-x=\"" + escape(of.x_label) + "\" aria-labelledby=\"" + name + "t " + name +
         "d\"><title id=\"" + name + "t\">" + escape(of.full_title) + "</title><desc id=\"" + name + "d\">" +
         escape(of.description) + "</desc>\n";
  return out + "<defs><clipPath id=\"" + name + "c\"><rect x=\"" + fixed(plot_left - 4, 0) + "\" y=\"" +
         fixed(top - 4, 0) + "\" width=\"" + fixed(plot_width - plot_left - plot_right + 8, 0) + "\" height=\"" +
         fixed(height - top - plot_bottom + 6, 0) + "\"/></clipPath></defs>\n";
}

std::string grid(const frame& in, const std::string& x_label) {
  std::string out = "<g class=\"grid\">";
  for (const auto& mark : in.y.ticks) {
    const auto y = fixed(in.py(mark.at), 1);
    out += "<line x1=\"" + fixed(plot_left, 0) + "\" x2=\"" + fixed(plot_width - plot_right, 0) + "\" y1=\"" + y +
           "\" y2=\"" + y + "\"/><text x=\"" + fixed(plot_left - 8, 0) + "\" y=\"" + y +
           "\" dy=\".32em\" text-anchor=\"end\">" + escape(mark.label) + "</text>";
  }
  return out + "</g>" + x_axis(in, x_label);
}

std::string x_axis(const frame& in, const std::string& x_label, double height) {
  const std::string floor = fixed(height - plot_bottom, 1);
  std::string out = "<g class=\"grid\">";
  for (const auto& mark : in.x.ticks) {
    const double x = in.px(mark.at);
    const char* anchor = ends_at_edge(x) ? "end" : "middle";
    out += "<line class=\"tick\" x1=\"" + fixed(x, 1) + "\" x2=\"" + fixed(x, 1) + "\" y1=\"" + floor + "\" y2=\"" +
           fixed(height - plot_bottom + 5, 1) + "\"/><text x=\"" + fixed(anchor[0] == 'e' ? plot_width - 2 : x, 1) +
           "\" y=\"" + fixed(height - plot_bottom + 18, 1) + "\" text-anchor=\"" + anchor +
           (mark.minor ? "\" class=\"minor\">" : "\">") + escape(mark.label) + "</text>";
  }
  out += "<line class=\"base\" x1=\"" + fixed(plot_left, 0) + "\" x2=\"" + fixed(plot_width - plot_right, 0) +
         "\" y1=\"" + floor + "\" y2=\"" + floor + "\"/>";
  return out + "<text class=\"name\" x=\"" + fixed((plot_left + plot_width - plot_right) / 2, 0) + "\" y=\"" +
         fixed(height - 6, 0) + "\" text-anchor=\"middle\">" + escape(x_label) + "</text></g>\n";
}

std::string fill_of(std::size_t colour) { return " fill=\"var(--c" + std::to_string(colour % palette) + ")\""; }

std::string filled_entry(std::size_t colour, const std::string& name, const std::string& value) {
  return "<li><svg class=\"swatch square\" viewBox=\"0 0 10 10\" aria-hidden=\"true\"><rect width=\"10\" height=\"10\" "
         "rx=\"2\"" +
         fill_of(colour) + "/></svg><span>" + escape(name) + "</span>" +
         (value.empty() ? "" : " <b>" + escape(value) + "</b>") + "</li>";
}

}  // namespace furlong::tools
