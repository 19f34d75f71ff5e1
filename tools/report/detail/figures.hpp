// The plots of a report, as data: one run, or several overlaid.
#pragma once

#include <span>
#include <string>
#include <variant>
#include <vector>

#include "tools/report/detail/bar_chart.hpp"
#include "tools/report/detail/scatter.hpp"
#include "tools/report/detail/svg_chart.hpp"
#include "tools/report/detail/timeline.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

using figure_data = std::variant<chart, bar_chart, timeline, scatter>;

/// The plots under one heading; those without anything to show are left out.
struct figure_group {
  std::string title;
  std::string note;  ///< escaped; may be empty
  std::vector<figure_data> plots;
};

/// Learning by round and in virtual time, communication and participation; of a single run also its rounds task by
/// task, availability, staleness and quality by participation. `labels` names each run.
[[nodiscard]] std::vector<figure_group> figures_of(std::span<const run_record> runs,
                                                   const std::vector<std::string>& labels);

}  // namespace furlong::tools
