// The parts of a report about one run, as HTML. Each is empty where the run has nothing to say about it.
#pragma once

#include <string>

#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Algorithm, model, seed and version in one line.
[[nodiscard]] std::string about_line(const run_record& run);
/// What is missing from the run.
[[nodiscard]] std::string notes_of(const run_record& run);
/// The key figures.
[[nodiscard]] std::string cards(const run_record& run);
/// The final metrics of every group.
[[nodiscard]] std::string final_metrics(const run_record& run);
/// What became of every selected client, and whether it adds up.
[[nodiscard]] std::string accounting(const run_record& run);
/// Rejected updates by reason.
[[nodiscard]] std::string rejections(const run_record& run);
/// How often clients took part, and how evenly.
[[nodiscard]] std::string participation_summary(const run_record& run);
/// How stale the private values of clients with stored state are.
[[nodiscard]] std::string private_state(const run_record& run);
/// All kinds of events.
[[nodiscard]] std::string events(const run_record& run);
/// The hashes that tell whether two runs came to the same.
[[nodiscard]] std::string identity(const run_record& run);
/// The resolved scenario, folded away.
[[nodiscard]] std::string scenario_text(const run_record& run);

}  // namespace furlong::tools
