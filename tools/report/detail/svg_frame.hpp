// What all plots share: the frame of axes, its grid, and the <figure> around it.
#pragma once

#include <string>

#include "tools/report/detail/axis.hpp"

namespace furlong::tools {

// In units of the view box. The page scales it; on phones the style sheet enlarges the letters, which the margins
// allow. The script of the page knows width, top and bottom, too.
inline constexpr double plot_width = 560.0;
inline constexpr double plot_height = 280.0;
inline constexpr double plot_left = 66.0;
inline constexpr double plot_right = 14.0;
inline constexpr double plot_top = 12.0;
inline constexpr double plot_bottom = 44.0;
inline constexpr std::size_t palette = 8;  ///< colours c0 to c7 of the style sheet

/// Where values lie in the view box.
struct frame {
  axis x;
  axis y;
  [[nodiscard]] double px(double value) const {
    return plot_left + x.place(value) * (plot_width - plot_left - plot_right);
  }
  [[nodiscard]] double py(double value) const {
    return plot_height - plot_bottom - y.place(value) * (plot_height - plot_top - plot_bottom);
  }
};

/// Of labels on the x axis that would run into each other only every second, third, ... stays; those that would only
/// with the large letters of phones become minor.
void thin_out(axis& x);

/// The texts around a plot, none of them escaped but the legend.
struct figure_texts {
  std::string title;        ///< above the plot
  std::string full_title;   ///< of the image
  std::string description;  ///< the plot in words, for those who cannot see it
  std::string x_label;
  std::string legend_html;  ///< may be empty
};

/// <figure>, caption, legend and the start of the <svg>, with a clip path "pIDc" that is the frame. `id` makes the
/// names inside unique on the page.
[[nodiscard]] std::string open_figure(const figure_texts& of, std::size_t id, double height = plot_height,
                                      double top = plot_top);
/// "p4": what the names of a figure's parts begin with.
[[nodiscard]] std::string figure_name(std::size_t id);

/// Lines and labels at the ticks of y, and the axis at the bottom.
[[nodiscard]] std::string grid(const frame& in, const std::string& x_label);
/// The axis at the bottom of a frame of any height: base line, ticks, labels and name.
[[nodiscard]] std::string x_axis(const frame& in, const std::string& x_label, double height = plot_height);

/// fill="var(--c3)"
[[nodiscard]] std::string fill_of(std::size_t colour);
/// A legend's entry: a filled square, a name and what it came to, which may be empty.
[[nodiscard]] std::string filled_entry(std::size_t colour, const std::string& name, const std::string& value);

}  // namespace furlong::tools
