// The tasks of one round as bars from start to end, one below the other, as an inline SVG in a <figure>.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Colours by outcome, the same in all plots and legends.
struct outcome_colour {
  const char* outcome;
  std::size_t colour;
};
inline constexpr std::array<outcome_colour, 7> outcome_colours{
    {{"folded", 0}, {"rejected", 1}, {"late", 3}, {"surplus", 2}, {"dropped", 4}, {"abandoned", 6}, {"in flight", 5}}};
/// Of the palette; an outcome not listed has the last colour.
[[nodiscard]] std::size_t colour_of(std::string_view outcome);

/// A moment that is marked by an upright line.
struct moment {
  std::string name;
  double at = 0.0;
};

/// What a timeline shows. Times in seconds since the round began; all finite.
struct timeline {
  std::string title;
  std::vector<task_figures> tasks;
  std::vector<moment> moments;  ///< ascending
};

/// The timeline of a round that has tasks with finite times, and of a run whose rounds have a deadline.
[[nodiscard]] timeline timeline_of(const round_figures& round, std::optional<double> deadline);
[[nodiscard]] std::string render(const timeline& of, std::size_t id);

}  // namespace furlong::tools
