// A run in its directory: its start, new or from its checkpoint, and its course.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "federated/experiment/private_store.hpp"
#include "federated/state/server_state.hpp"
#include "tools/runs/figures_json.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// The starting state of a run.
struct start_point {
  federated::server_state state;
  std::unique_ptr<federated::private_store> store;
};

/// The keeper of the clients' private values.
enum class store_holder {
  run,   ///< the run's folder
  nodes  ///< the nodes that host the clients: the run has a store that stays empty
};

/// What `run` and `serve` can do with the folder of a run.
inline constexpr const char* or_resume = ", or continue its run with --resume";

/// Opens or creates the folder, locks it, opens its log, and determines the starting state: with `resume` its
/// checkpoint; a folder that does not exist then starts a run from nothing.
[[nodiscard]] result<start_point> begin_run(const prepared_run& run, run_directory& folder, bool resume,
                                            const std::string& log_level, store_holder holder);

/// The summary of the folder's run if it has ended and no rounds remain under this scenario; null if it continues or
/// has not started. Fails if the folder has another run or one of the other command, or the data have changed.
[[nodiscard]] result<json> find_end(const prepared_run& run, const run_directory& folder, store_holder holder);

/// Opens or creates the private store of an experiment, and its key file. `same_life`: of a node, whose server may have
/// continued. `save`: the save that the checkpoint of the run names.
[[nodiscard]] result<std::unique_ptr<federated::private_store>> open_private_store(
    const federated::experiment& experiment, const std::filesystem::path& folder, const federated::run_history& history,
    std::uint32_t expected_clients, bool same_life, const federated::store_save& save);

/// Logs to a file, and warnings to stderr as well.
[[nodiscard]] result<void> open_log(const std::filesystem::path& file, const std::string& level);

}  // namespace furlong::tools
