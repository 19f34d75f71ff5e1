// The parts of a report about one run, as JSON. A table is {"title", "caption", "heads": [{"name", "numeric"}], "rows":
// [{"cells": [...], "kind"}], "hint", "warning"}; cells are plain text.
#pragma once

#include "tools/report/detail/figures.hpp"

namespace furlong::tools {

/// The final metrics of every group as a table; null without any.
[[nodiscard]] page_json final_metrics(const run_record& run);

/// {"label", "about": [...], "badge", "notes": [...], "cards": [{"name", "value", "details"}], "tables", "hashes":
/// [[what, hash]], "scenario"}: what became of every selected client, rejections, participation, private staleness and
/// events, as far as the run has them.
[[nodiscard]] page_json run_data(const run_record& run, const std::string& label);

/// The configurations with their figures as a table; its cells of figures are {"text", "spread", "value", "best"}. What
/// is the same in all is in a note.
[[nodiscard]] page_json comparison_json(std::span<const run_record> runs);

/// All that the page of these runs holds: figures_of(), "main" (its first table, or null), "runs" and perhaps a "hint".
[[nodiscard]] page_json report_data(std::span<const run_record> runs);

}  // namespace furlong::tools
