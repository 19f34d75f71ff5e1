// The end of a run: what it came to, its summary, and what is said of it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// A problem of a completed run, and its fix.
struct complaint {
  std::string why;
  std::string fix;
};

/// Why a run that has ended has no usable result; nothing: it has one.
[[nodiscard]] std::optional<complaint> verdict(const prepared_run& run, const federated::run_outcome& outcome);

/// Writes summary.json of a run that has ended, and returns its content. Fails as the store does, and (kind runtime) if
/// the file cannot be written.
[[nodiscard]] result<json> write_summary(const prepared_run& run, const run_directory& folder,
                                         const federated::run_outcome& outcome, const std::optional<complaint>& wrong,
                                         federated::private_store& store);

/// Warns about a run of which most updates were rejected, and notes events that it ended before.
void warn_of_end(const prepared_run& run, const federated::server_state& ended);

/// The failure of a run, and if its model failed also up to where the run is kept, and how it goes on.
[[nodiscard]] error failure_of_run(const prepared_run& run, const run_directory& folder, const error& why);

/// Says after which round a run stopped; the exit code.
int report_stop(std::uint64_t round, const run_directory& folder);

}  // namespace furlong::tools
