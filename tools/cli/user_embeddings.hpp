// The user embeddings of a trained run, for its owner's local report.
#pragma once

#include <vector>

#include "base/result.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// Reads each run's user embeddings: the private tensors of a run that stores them, or the rows of its tables over
/// clients (user_table). Selects at most 2,000 of the clients that all runs with the same data have, drawn by the first
/// run's seed, so that these runs are comparable. Fails as opening a run does, and (kind usage) for a run without user
/// embeddings.
[[nodiscard]] result<void> add_embeddings(std::vector<run_record>& runs);

}  // namespace furlong::tools
