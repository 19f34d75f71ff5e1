// Who was selected in each round of a run, and whose updates are in each version: cohorts.jsonl.
#pragma once

#include <string>

#include "base/result.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// The line of a round: {"round":3,"selected":[4,7],"aggregated":[7]}. Both list clients. If updates were of tasks of
/// earlier rounds, "since" has the round of each.
[[nodiscard]] std::string cohort_line(const federated::round_report& report);

/// A row for each task of a run, in the order of their selection: its round, the client, and the round whose version
/// has its update; nothing where none has it. The last line of a run that is at work may be incomplete. Fails (kind
/// data) if the folder has no cohorts, or others than furlong writes.
[[nodiscard]] result<std::string> cohorts_csv(const run_directory& folder);

}  // namespace furlong::tools
