// The end of a run: summary, report, closing messages, exit code.
#pragma once

#include <filesystem>
#include <optional>
#include <vector>

#include "base/result.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/cli/command_options.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/session.hpp"
#include "tools/compare/run_record.hpp"

namespace furlong::tools {

/// Writes the outputs of an ended run, prints its closing table to stdout in this format, if any, and returns the exit
/// code: of the error, of an interrupted run, or of a run without a result.
int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, std::optional<output_format> format);

/// Says after which round a run stopped; the exit code.
int report_stop(std::uint64_t round, const run_directory& folder);

// The user embeddings of a trained run, for its owner's local report.

/// Reads each run's user embeddings: the private tensors of a run that stores them, or the rows of its tables over
/// clients (user_table). Selects at most 2,000 of the clients that all runs with the same data have, drawn by the first
/// run's seed, so that these runs are comparable. Fails as opening a run does, and (kind usage) for a run without user
/// embeddings.
[[nodiscard]] result<void> add_embeddings(std::vector<run_record>& runs);

}  // namespace furlong::tools
