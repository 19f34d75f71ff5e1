// The plots of a report, as data: one run, or several overlaid.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/report/detail/svg_chart.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// The plots under one heading; those without a line are left out.
struct figure_group {
  std::string title;
  std::string note;  ///< escaped; may be empty
  std::vector<chart> charts;
};

/// Learning, communication and participation. `labels` names each run.
[[nodiscard]] std::vector<figure_group> figures_of(std::span<const run_record> runs,
                                                   const std::vector<std::string>& labels);

}  // namespace furlong::tools
