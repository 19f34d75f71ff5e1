// How a run begins: afresh, or from its checkpoint.
#pragma once

#include <memory>
#include <string>

#include "federated/private_store.hpp"
#include "federated/protocol/server_state.hpp"
#include "tools/cli/figures_json.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/session.hpp"

namespace furlong::tools {

/// What a run starts from.
struct start_point {
  federated::protocol::server_state state;
  std::unique_ptr<federated::private_store> store;
};

/// Who keeps the clients' private values.
enum class store_holder {
  run,   ///< the run's folder
  nodes  ///< the nodes that host the clients: the run has a store that stays empty
};

/// Opens or makes the folder, locks it, opens its log, and says where the run goes on. With `resume` from its
/// checkpoint; a folder that does not exist then is a run that starts from nothing.
[[nodiscard]] result<start_point> prepare_run(const session& of, run_directory& folder, bool resume,
                                              const std::string& log_level, store_holder holder);

/// The summary of the folder's run where that is over, with nothing left to do under this scenario; null where it goes
/// on, or is yet to begin. Fails when the folder holds another run or one of the other command, or the data have
/// changed.
[[nodiscard]] result<json> find_end(const session& of, const run_directory& folder, store_holder holder);

/// Opens the private store of an experiment, or makes it; also the key file that it names. `same_life`: of a node,
/// whose server may not have stopped meanwhile. `save`: what the checkpoint that the run goes on from names.
[[nodiscard]] result<std::unique_ptr<federated::private_store>> open_private_store(
    const federated::experiment& e, const std::filesystem::path& folder, const federated::run_history& history,
    std::uint32_t expected_clients, bool same_life, const federated::store_save& save);

/// Sends the log to a file, and its warnings to stderr as well.
[[nodiscard]] result<void> open_log(const std::filesystem::path& file, const std::string& level);

}  // namespace furlong::tools
