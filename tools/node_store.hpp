// The private store of a node, which outlives the servers that it works for.
#pragma once

#include <filesystem>
#include <memory>

#include "federated/experiment.hpp"
#include "federated/private_store.hpp"
#include "federated/protocol/messages.hpp"
#include "tools/data_digest.hpp"

namespace furlong::tools {

/// Finds what is wrong with a store without knowing the run: another process uses it, or its key is not `key_file`'s. A
/// folder that has no store is none of these. Fails as stores do.
[[nodiscard]] result<void> check_node_store(const std::filesystem::path& folder, const std::filesystem::path& key_file);

/// What a node brings along.
struct node_place {
  std::filesystem::path folder;  ///< of its store
  federated::protocol::client_range clients;
  data_digest data;                  ///< of their data
  bool accept_changed_data = false;  ///< --accept-changed-data
  bool accept_state_loss = false;    ///< --accept-state-loss
};

/// Opens or makes the store of a node's clients; where the algorithm is stateless it keeps no values. Beside them it
/// remembers, in `node.json`, of which start of the run they are, and on which data they were trained.
/// Fails (kind usage) when the store is of another run, or has values of another start of this one, or the folder has
/// something else in it; (kind data) when the data have changed since that start, or the server does not know the life
/// of the run that the values are of, and that is not accepted; and as stores do. Values whose loss is accepted are
/// removed.
[[nodiscard]] result<std::shared_ptr<federated::private_store>> open_node_store(const federated::experiment& e,
                                                                                const federated::protocol::welcome& got,
                                                                                const node_place& place);

}  // namespace furlong::tools
