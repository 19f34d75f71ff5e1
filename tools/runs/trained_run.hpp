// A run directory opened for its trained model.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "federated/state/ledger.hpp"
#include "storage/rocks_store.hpp"
#include "tools/runs/json.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// The scenario of a run. Fails (kind data) if the folder has none.
[[nodiscard]] result<scenarios::scenario> read_scenario(const run_directory& folder);
/// Its checkpoint. Fails (kind data) if the data differ from those of the run, and as read_checkpoint() does.
[[nodiscard]] result<federated::server_state> read_state(const prepared_run& run, const run_directory& folder);

/// A finished (or stopped) run.
struct trained_run {
  prepared_run prepared;
  models::shared_parameters model;                                ///< final model, as clients get it
  models::shared_parameters kept;                                 ///< the same as the server has it
  models::shared_parameters added;                                ///< the server's tensors of the algorithm
  std::unique_ptr<storage::rocks_store> store;                    ///< null if no private values are stored
  std::shared_ptr<const federated::participation_ledger> ledger;  ///< null: the run keeps none
  federated::virtual_time now = 0;                                ///< at the end; 0 under the real clock
  std::uint64_t version = 0;                                      ///< of the server
  std::filesystem::path folder;
  bool served = false;  ///< by furlong serve: its nodes keep the private values
};

/// Opens the data, the checkpoint and, read-only, the private store. Fails as they do; (kind data) if the data differ
/// from those of the run; and (kind usage) if there is a private store and the run has not ended, because its values
/// may be newer than the model.
[[nodiscard]] result<trained_run> open_trained_run(const run_directory& folder,
                                                   clients_are where = clients_are::simulated);

/// Fails (kind usage) if the run predicts with private values of clients that train, and these are not in its folder.
/// @param client whose values are needed; none: those of all
[[nodiscard]] result<void> check_private_values(const trained_run& run, std::optional<std::uint32_t> client = {});

}  // namespace furlong::tools
