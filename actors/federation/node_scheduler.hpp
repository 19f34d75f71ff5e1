// A node's work in waves: between them its thread syncs and changes the store.
#pragma once

#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

/// Performs the machine's effects, then continues the work.
void perform_all(node_pointer self, protocol::node_effects effects);
/// Ends the node at once.
void finish(node_pointer self, const std::string& why, std::optional<error> failure = {});

/// Whether workers change the store: not with commit = "after-ack".
[[nodiscard]] bool workers_commit(node_pointer self);
/// Stores private values as of that version, once, as soon as no worker reads those of the client.
void store_values(node_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version);
/// Discards the pending values of a task (private_store::discard), after what store_values() does.
void discard_values(node_pointer self, const federated::task_id& task);
/// Syncs the values that this thread stored.
void sync_values(node_pointer self);
/// Ends the wave when its workers are done, runs the waiting actions, and begins the next.
void continue_work(node_pointer self);

}  // namespace furlong::actors::federation
