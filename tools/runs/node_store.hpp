// The private store of a node, which outlives servers.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/client/confirmed_lists.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/state/store_claim.hpp"
#include "tools/runs/prepared_run.hpp"

namespace furlong::tools {

/// Checks a store without knowledge of the run: it must not be in use by another process, its key must be `key_file`'s,
/// and it must have no values of other nodes' clients. A folder without a store passes. Fails (kind usage) otherwise,
/// and as stores do.
/// @return the claim to send to a gateway
[[nodiscard]] result<federated::store_claim> check_node_store(const std::filesystem::path& folder,
                                                              const std::filesystem::path& key_file,
                                                              const federated::client_range& clients);

/// A node's own inputs.
struct node_place {
  std::filesystem::path folder;  ///< of its store
  federated::client_range clients;
  data_digest data;                  ///< of their data
  std::uint64_t described_run = 0;   ///< scenarios::run_id() of what the server tells of the run: its own id may be any
  scenarios::source_code code = {};  ///< of the class that has them; empty: none
  bool accept_changed_data = false;  ///< --accept-changed-data
  bool accept_state_loss = false;    ///< --accept-state-loss
  code_change change = code_change::offered;
};

/// A store that is ready for a run.
struct node_store {
  std::shared_ptr<federated::private_store> values;
  federated::store_claim claim;
  std::function<result<void>(std::uint64_t served)> note_served;  ///< empty if no values are kept
  federated::confirmed_sums confirmed = {};
};

/// Opens or creates the store of a node's clients. With a stateless algorithm it keeps no values; with generated data
/// as well it writes nothing, unless the run is under secure aggregation: then `confirmed` has the sums that its
/// clients have helped to open. `node.json` next to the values records the start and life of the run, the clients, the
/// data of training, the code of a Python class, and the version up to which updates were reported. Fails (kind usage)
/// if the store is of another run or another start of this one (also `confirmed`), or the folder has other content;
/// (kind data) if the data have changed since that start, or the server does not know the life of the values, unless
/// accepted; and as stores do. Values whose loss is accepted are removed.
[[nodiscard]] result<node_store> open_node_store(const federated::experiment& experiment,
                                                 const federated::protocol::welcome& got, const node_place& place);

// A node's persistent record: `node.json`, next to the private values in its store's folder.

struct node_record {
  std::uint64_t start_id = 0;  ///< start of the run that the node took part in last (welcome::start_id)
  std::uint64_t life = 0;      ///< of the run, that it took part in last (run_history::id())
  std::uint64_t store = 0;     ///< store_claim: the store's random id; 0: no values are kept
  std::uint64_t openings = 0;
  std::uint64_t served = 0;
  federated::client_range clients;  ///< owners of the values
  std::string data_sha256;          ///< of their data (prepared_run.hpp); empty: generated
  std::string code = {};            ///< code_text() of the class that has them; empty: none
};

[[nodiscard]] std::filesystem::path node_record_file(const std::filesystem::path& folder);
/// Nothing if it does not exist. Fails (kind data) if it is damaged.
[[nodiscard]] result<std::optional<node_record>> read_node_record(const std::filesystem::path& folder);
/// Also creates the folder. Durable on return.
[[nodiscard]] result<void> write_node_record(const std::filesystem::path& folder, const node_record& record);

}  // namespace furlong::tools
