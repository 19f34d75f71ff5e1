// Where a replay starts: after the newest kept checkpoint of the run that does not depend on the removed clients.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "federated/state/server_state.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// The newest kept checkpoint from before the first of these clients was selected. Nothing: there is none.
/// @param newest the run's own checkpoint
[[nodiscard]] result<std::optional<std::uint64_t>> newest_without(const prepared_run& prepared,
                                                                  const run_directory& run,
                                                                  const federated::server_state& newest,
                                                                  const std::vector<std::uint32_t>& without);

/// Makes the replay's directory as that of a run that stopped after a kept checkpoint.
[[nodiscard]] result<void> begin_at(const prepared_run& prepared, const run_directory& run, std::uint64_t version,
                                    const run_directory& target);

}  // namespace furlong::tools
