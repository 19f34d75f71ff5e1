#include "tools/report/detail/bar_chart.hpp"

#include <algorithm>
#include <cmath>

#include "tools/report/detail/html.hpp"
#include "tools/report/detail/svg_frame.hpp"

namespace furlong::tools {

namespace {

double height_of(const bar& of) {
  double sum = 0.0;
  for (const double value : of.values) sum += std::isfinite(value) ? value : 0.0;
  return sum;
}

axis y_axis_of(const bar_chart& of) {
  double low = of.base.value_or(0.0);
  double high = low;
  for (const auto& one : of.bars) {
    if (!of.base) high = std::max(high, height_of(one));
    for (const double value : one.values) {
      if (!of.base || !std::isfinite(value)) continue;
      low = std::min(low, value);
      high = std::max(high, value);
    }
  }
  if (of.base) {  // room for the values at the ends
    const double room = 0.12 * (high - low);
    high += high > *of.base ? room : 0.0;
    low -= low < *of.base ? room : 0.0;
  }
  // A bar of shares that reach 100 % must not end at an axis to 120 %.
  const bool is_share = of.y_style == number_style::percent && high <= 1.0 && high > 0.8;
  return make_axis(low, is_share ? 1.0 : high, of.y_style, 5, true);
}

axis x_axis_of(const bar_chart& of) {
  axis made{of.bars.front().from, of.bars.back().to, {}};
  if (of.label_bars) {
    for (const auto& one : of.bars) made.ticks.push_back({(one.from + one.to) / 2, one.label, false});
  } else if (of.x_step) {
    for (double at = std::ceil(made.low / *of.x_step) * *of.x_step; at <= made.high; at += *of.x_step)
      made.ticks.push_back({at, written(at, number_style::count), false});
  } else {
    const auto numbers = make_axis(made.low, made.high, number_style::count, 6, false);
    made.ticks = numbers.ticks;
    std::erase_if(made.ticks, [&](const tick& mark) { return mark.at < made.low || mark.at > made.high; });
  }
  return made;
}

struct box {
  double x = 0.0, y = 0.0, width = 0.0, height = 0.0;
};

// Of one part of one bar; a gap of a tenth between bars, at most three units wide.
box place(const bar& one, double from, double to, const frame& in) {
  const double left = in.px(one.from);
  const double whole = in.px(one.to) - left;
  const double gap = std::min(3.0, whole * 0.15);
  const double high = in.py(std::max(from, to));
  return {left + gap / 2, high, whole - gap, std::max(0.0, in.py(std::min(from, to)) - high)};
}

std::string rect(const box& at) {
  return "<rect x=\"" + fixed(at.x, 1) + "\" y=\"" + fixed(at.y, 1) + "\" width=\"" + fixed(at.width, 1) +
         "\" height=\"" + fixed(at.height, 1) + "\"/>";
}

// One part of all bars, with what the script shows beside the pointer.
std::string draw(const bar_chart& of, std::size_t part, const frame& in) {
  std::string rects;
  std::string data;
  for (const auto& one : of.bars) {
    const double value = one.values[part];
    if (!std::isfinite(value)) continue;
    double below = of.base.value_or(0.0);
    if (!of.base)
      for (std::size_t i = 0; i < part; ++i) below += std::isfinite(one.values[i]) ? one.values[i] : 0.0;
    const auto at = place(one, below, of.base ? value : below + value, in);
    if (at.height > 0.0) rects += rect(at);
    data += (data.empty() ? "" : "|") + fixed(in.px((one.from + one.to) / 2), 1) + ";" + one.label + ";" +
            written(value, of.y_style);
  }
  const auto& named = of.parts[part];
  return "<g class=\"curve bars\" data-name=\"" + escape(named.name) + "\" data-colour=\"" +
         std::to_string(named.colour % palette) + "\" data-points=\"" + escape(data) + "\"" + fill_of(named.colour) +
         ">" + rects + "</g>\n";
}

std::string base_line(const bar_chart& of, const frame& in) {
  if (!of.base) return {};
  const auto y = fixed(in.py(*of.base), 1);
  return "<line class=\"whole\" x1=\"" + fixed(plot_left, 0) + "\" x2=\"" + fixed(plot_width - plot_right, 0) +
         "\" y1=\"" + y + "\" y2=\"" + y + "\"/>";
}

// In the fewest letters: ".871", "43.3".
std::string brief(double value, number_style style) {
  return style == number_style::percent ? fixed(value * 100.0, 1) : fixed(value, std::abs(value) < 10.0 ? 3 : 1);
}

// The value at the end of every bar, where the bars are wide enough for it.
std::string end_values(const bar_chart& of, const frame& in) {
  constexpr double letter = 6.4;
  if (!of.label_bars) return {};
  std::string out = "<g class=\"ends\">";
  for (const auto& one : of.bars) {
    for (const double value : one.values) {
      if (!std::isfinite(value)) continue;
      const auto text = brief(value, of.y_style);
      if (static_cast<double>(text.size()) * letter > in.px(one.to) - in.px(one.from)) return {};
      const bool down = of.base && value < *of.base;
      out += "<text x=\"" + fixed(in.px((one.from + one.to) / 2), 1) + "\" y=\"" +
             fixed(in.py(value) + (down ? 13.0 : -5.0), 1) + "\" text-anchor=\"middle\">" + escape(text) + "</text>";
    }
  }
  return out + "</g>";
}

bool has_part(const bar_chart& of, std::size_t part) {
  return std::any_of(of.bars.begin(), of.bars.end(),
                     [&](const bar& one) { return std::isfinite(one.values[part]) && one.values[part] != 0.0; });
}

std::string legend(const bar_chart& of) {
  std::string out;
  for (std::size_t i = 0; i < of.parts.size(); ++i)
    if (has_part(of, i)) out += filled_entry(of.parts[i].colour, of.parts[i].name, of.parts[i].total);
  if (of.base)
    out +=
        "<li><svg class=\"swatch\" viewBox=\"0 0 26 8\" aria-hidden=\"true\"><path class=\"whole\" d=\"M1 4H25\"/>"
        "</svg><span>" +
        escape(of.base_name) + "</span> <b>" + escape(written(*of.base, of.y_style)) + "</b></li>";
  return "<ul class=\"legend\">" + out + "</ul>";
}

// The plot in words. All values stand in the table under it.
std::string describe(const bar_chart& of) {
  std::string text = counted(of.bars.size(), "bar") + ". ";
  for (std::size_t i = 0; i < of.parts.size(); ++i) {
    if (!has_part(of, i)) continue;
    const bar* low = nullptr;
    const bar* high = nullptr;
    for (const auto& one : of.bars) {
      if (!std::isfinite(one.values[i])) continue;
      if (low == nullptr || one.values[i] < low->values[i]) low = &one;
      if (high == nullptr || one.values[i] > high->values[i]) high = &one;
    }
    text += of.parts[i].name + ": lowest " + written(low->values[i], of.y_style) + " at " + low->label + ", highest " +
            written(high->values[i], of.y_style) + " at " + high->label + ". ";
  }
  if (of.base) text += of.base_name + ": " + written(*of.base, of.y_style) + ". ";
  return text;
}

std::vector<table_cell> cells_of(const bar_chart& of, const bar& one) {
  std::vector<table_cell> cells{text_cell(one.label)};
  const auto add = [&](double value) {
    cells.push_back(number_cell(written(std::isfinite(value) ? std::optional(value) : std::nullopt, of.y_style)));
  };
  if (!of.value_head.empty()) add(height_of(one));
  for (std::size_t i = 0; of.value_head.empty() && i < of.parts.size(); ++i)
    if (has_part(of, i)) add(one.values[i]);
  for (const auto& cell : one.more) cells.push_back(number_cell(cell));
  return cells;
}

std::string values(const bar_chart& of) {
  std::vector<table_head> heads{{escape(of.x_label), "", false}};
  if (!of.value_head.empty()) heads.push_back({escape(of.value_head), "", true});
  for (std::size_t i = 0; of.value_head.empty() && i < of.parts.size(); ++i)
    if (has_part(of, i)) heads.push_back({escape(of.parts[i].name), "", true});
  for (const auto& head : of.more_heads) heads.push_back({escape(head), "", true});
  std::vector<table_row> rows;
  for (const auto& one : of.bars) rows.push_back({cells_of(of, one), ""});
  return values_table(heads, rows);
}

}  // namespace

std::string render(const bar_chart& of, std::size_t id) {
  frame in{x_axis_of(of), y_axis_of(of)};
  thin_out(in.x);
  std::string out = open_figure({of.title, of.title + " by " + of.x_label, describe(of), of.x_label, legend(of)}, id) +
                    grid(in, of.x_label) + "<g clip-path=\"url(#" + figure_name(id) + "c)\">";
  for (std::size_t i = 0; i < of.parts.size(); ++i)
    if (has_part(of, i)) out += draw(of, i, in);
  out += base_line(of, in) + "</g>" + end_values(of, in) + "</svg>";
  if (!of.note.empty()) out += "<p class=\"hint\">" + escape(of.note) + "</p>";
  return out + values(of) + "</figure>\n";
}

std::vector<stretch> stretches_of(std::uint64_t first, std::uint64_t last, std::size_t most) {
  const auto fits = [&](std::uint64_t width) { return (last - first) / width < most; };
  std::uint64_t width = 1;
  for (std::uint64_t power = 1; !fits(width); power *= 10)
    for (const std::uint64_t times : {1U, 2U, 5U}) {
      width = power * times;
      if (fits(width)) break;
    }
  std::vector<stretch> out;
  for (std::uint64_t at = first;; at += width) {
    out.push_back({at, last - at < width ? last : at + width - 1});
    if (last - at < width) break;  // before `at` passes the largest number there is
  }
  return out;
}

std::string label_of(const stretch& of) {
  return of.first == of.last ? grouped(of.first) : grouped(of.first) + "\u2013" + grouped(of.last);
}

}  // namespace furlong::tools
