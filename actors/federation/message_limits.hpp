// How long the messages of a run get, and whether network.max_message lets them through.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "federated/experiment.hpp"

namespace furlong::actors::federation {

/// Predictions of one client that a message of scores has room for, beside all else that it may hold. Models of other
/// than two classes send none.
[[nodiscard]] std::size_t most_predictions(const federated::experiment& e);

/// Bytes of the longest frame between a gateway and its nodes: a model, an update, lists of clients, scores. Never
/// above network.max_message.
/// @param clients of the whole population
[[nodiscard]] std::uint64_t longest_node_frame(const federated::experiment& e, std::size_t clients);

/// Bytes of the longest frame of a node that nobody has let in yet: a hello, which has an entry for each task that the
/// node holds. So nobody takes the room of updates who is not a node of this run.
[[nodiscard]] std::uint64_t longest_hello(const federated::experiment& e, std::size_t clients);

/// Whether everything that a run may send fits into network.max_message: the model, an update, lists of all clients,
/// the scores of any client whose data are here and, with aggregators, a partial aggregate. What zstd would save is not
/// counted on.
/// Error (usage): names the key, and the bytes that are needed; or the client that has too many test examples for any.
[[nodiscard]] result<void> check_max_message(const federated::experiment& e, std::size_t clients, bool aggregators);

/// Bytes of room for updates on their way in: for a few at once, however many nodes send. They are folded one after the
/// other, so more of them would only wait in memory.
/// @param most however long an update is
[[nodiscard]] std::size_t upload_room(const federated::experiment& e, std::size_t most);

}  // namespace furlong::actors::federation
