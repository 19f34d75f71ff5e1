// A node's part of secure aggregation: the keys of its clients, and the masks of their updates.
#pragma once

#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

/// A run under secure aggregation was opened.
void begin_secrets(node_state& state, std::uint64_t start_id);
/// Sends the public keys of clients that were given tasks, newly or again.
void send_keys(node_pointer self, const protocol::assignment& given);
/// Masks the update of a task and makes its frame, once that is possible; fails the task if it never will be.
void prepare_masked(node_pointer self, const federated::task_id& task);
void on_letters(node_pointer self, const protocol::letters& got);

}  // namespace furlong::actors::federation
