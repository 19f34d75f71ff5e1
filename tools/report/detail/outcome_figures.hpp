// The plots of one run about its tasks and clients: how tasks ended, when clients could be asked, how stale updates
// were, and how good the model is for those who took part often or seldom. Each is empty where the run says nothing
// about it.
#pragma once

#include <optional>
#include <vector>

#include "tools/report/detail/bar_chart.hpp"
#include "tools/report/detail/timeline.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Mean tasks a round by outcome, over rounds in stretches; only for a run where a task ended in another way than
/// folded or rejected.
[[nodiscard]] std::optional<bar_chart> outcomes_by_round(const run_record& run);
/// The share of the probed clients that were available, by hour of the virtual day; only for runs of three virtual
/// hours or more.
[[nodiscard]] std::optional<bar_chart> availability_by_hour(const run_record& run);
/// Folded updates by staleness.
[[nodiscard]] std::optional<bar_chart> staleness_histogram(const run_record& run);
/// The final metrics of the seen clients by how often they took part, and of the unseen; at most two plots.
[[nodiscard]] std::vector<bar_chart> quality_by_participation(const run_record& run);
/// The rounds of which the run tells every task.
[[nodiscard]] std::vector<timeline> timelines_of(const run_record& run);

}  // namespace furlong::tools
