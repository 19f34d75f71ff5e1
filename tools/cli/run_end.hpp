// How a run ends: its summary and report, what is said of it, its exit code.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "federated/run_observer.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/session.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Writes what is to be written of a run that has ended, prints its closing table to stdout, and returns the exit code:
/// of the error, of a run that was interrupted, or that came to nothing.
int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, output_format format);

// The user embeddings of a trained run, for its owner's report on this machine.

/// Reads each run's user embeddings: the private tensors of a run that stores them, or the rows of its tables
/// over clients (user_table). Of the clients that all runs with the same data have at most 2,000, drawn by the first
/// run's seed, so that these runs can be compared. `folders` are the runs' directories, in their order. Fails as
/// opening a run does, and (kind usage) for a run that has no user embeddings.
[[nodiscard]] result<void> add_embeddings(const std::vector<std::filesystem::path>& folders,
                                          std::vector<run_record>& runs);

}  // namespace furlong::tools
