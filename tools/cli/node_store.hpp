// The private store of a node, which outlives the servers that it works for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/experiment.hpp"
#include "federated/private_store.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/protocol/store_claim.hpp"
#include "tools/cli/session.hpp"

namespace furlong::tools {

/// Finds what is wrong with a store without knowing the run: another process uses it, its key is not `key_file`'s, or
/// it has values of clients that are not this node's. A folder that has no store is none of these. Fails (kind usage)
/// so, and as stores do.
/// @return what a gateway is to be told of it
[[nodiscard]] result<federated::protocol::store_claim> check_node_store(
    const std::filesystem::path& folder, const std::filesystem::path& key_file,
    const federated::protocol::client_range& clients);

/// What a node brings along.
struct node_place {
  std::filesystem::path folder;  ///< of its store
  federated::protocol::client_range clients;
  data_digest data;                  ///< of their data
  bool accept_changed_data = false;  ///< --accept-changed-data
  bool accept_state_loss = false;    ///< --accept-state-loss
};

/// A store that is ready for a run.
struct node_store {
  std::shared_ptr<federated::private_store> values;
  federated::protocol::store_claim claim;
  std::function<result<void>(std::uint64_t served)> note_served;  ///< empty where no values are kept
};

/// Opens or makes the store of a node's clients; where the algorithm is stateless it keeps no values, and where the
/// data are generated, too, leaves no trace. Beside them it remembers, in `node.json`, of which start and life of the
/// run they are, whose, on which data they were trained, and up to which version updates were reported. Fails (kind
/// usage) when the store is of another run, or has values of another start of this one, or the folder has something
/// else in it; (kind data) when the data have changed since that start, or the server does not know the life of the run
/// that the values are of, and that is not accepted; and as stores do. Values whose loss is accepted are removed.
[[nodiscard]] result<node_store> open_node_store(const federated::experiment& e,
                                                 const federated::protocol::welcome& got, const node_place& place);

// What a node remembers from one start to the next: `node.json`, beside the private values in its store's folder.

struct node_record {
  std::uint64_t start_id = 0;  ///< start of the run that the node took part in last (welcome::start_id)
  std::uint64_t life = 0;      ///< of the run, that it took part in last (run_history::id())
  std::uint64_t store = 0;     ///< store_claim: the store's random id; 0: no values are kept
  std::uint64_t openings = 0;
  std::uint64_t served = 0;
  federated::protocol::client_range clients;  ///< whose values they are
  std::string data_sha256;                    ///< of their data (session.hpp); empty: generated
};

[[nodiscard]] std::filesystem::path node_record_file(const std::filesystem::path& folder);
/// Nothing where there is none. Fails (kind data) when it is damaged.
[[nodiscard]] result<std::optional<node_record>> read_node_record(const std::filesystem::path& folder);
/// Makes the folder, too. Durable on return.
[[nodiscard]] result<void> write_node_record(const std::filesystem::path& folder, const node_record& record);

}  // namespace furlong::tools
