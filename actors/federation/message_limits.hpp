// The sizes of a run's messages, checked against network.max_message.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/state/store_claim.hpp"

namespace furlong::actors::federation {

/// The number of predictions of one client that fit into a message of scores. Only models of two classes send them.
[[nodiscard]] std::size_t most_predictions(const federated::experiment& experiment);

/// Bytes of the longest frame between a gateway and its nodes: a model, an update, lists of clients, scores. Never
/// above network.max_message.
/// @param clients of the whole population
[[nodiscard]] std::uint64_t longest_node_frame(const federated::experiment& experiment, std::size_t clients);

/// Bytes of the longest frame of a node before admission: a hello, with an entry for each task that the node holds.
/// Peers that are not nodes of this run therefore cannot take the memory for updates.
[[nodiscard]] std::uint64_t longest_hello(const federated::experiment& experiment, std::size_t clients);

/// Checks that a node's messages can list all clients that it hosts. Error (usage): names --clients.
[[nodiscard]] result<void> check_hosted(const federated::client_range& clients);

/// Checks that all messages of a run can be encoded, and fit into network.max_message: the model, an update, lists of
/// all clients and of the tasks of a round, the scores of any client whose data are here and, with aggregators, a
/// partial aggregate, without savings by zstd. Error (usage): names the key and the required bytes; or what is too long
/// for any limit: tensors, the rule's sums, the client with too many test examples, the model with too many metrics.
[[nodiscard]] result<void> check_max_message(const federated::experiment& experiment, std::size_t clients,
                                             bool aggregators);

/// Bytes for incoming updates: for a few at once, independent of the number of nodes. They are aggregated one by one,
/// so more of them would only wait in memory.
/// @param most upper bound of the result
[[nodiscard]] std::size_t upload_room(const federated::experiment& experiment, std::size_t most);

}  // namespace furlong::actors::federation
