// Invariants of every finished run, independent of its scenario.
//
//   1. Every task is accounted for: selected = folded + rejected + late + surplus + dropped + abandoned + in_flight, in
//      summary.json and, added up, after every line of metrics.jsonl; and the two agree.
//   2. No update is folded twice: no client has more updates in the model than it was given tasks, all records of
//      clients add up to the counts of the run, and no timeline of a round has a folded task twice.
//   3. Only algorithms that keep private state store private values.
//   4. All numbers are finite.
//   5. Time never goes back.
#pragma once

#include <filesystem>

#include "base/result.hpp"
#include "tools/expectations/expectations.hpp"

namespace furlong::tools {

/// One finding per invariant, from the files of a finished run's directory. Fails (kind data) if a file is missing or
/// has a line that is not JSON.
[[nodiscard]] result<findings> judge_invariants(const std::filesystem::path& run);

}  // namespace furlong::tools
