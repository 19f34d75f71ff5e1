// The user embeddings of a trained run, for its owner's report on this machine.
#pragma once

#include <filesystem>
#include <vector>

#include "base/result.hpp"
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Reads each run's user embeddings: the private tensors of a run that stores them, or the rows of its tables
/// over clients (user_table). Of the clients that all runs with the same data have at most 2,000, drawn by the first
/// run's seed, so that these runs can be compared. `folders` are the runs' directories, in their order. Fails as
/// opening a run does, and (kind usage) for a run that has no user embeddings.
[[nodiscard]] result<void> add_embeddings(const std::vector<std::filesystem::path>& folders,
                                          std::vector<run_record>& runs);

}  // namespace furlong::tools
