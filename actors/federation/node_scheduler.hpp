// A node's work in waves: between them its thread syncs and changes the store.
#pragma once

#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

/// Performs the machine's effects, then continues the work.
void perform_all(node_pointer self, protocol::node_effects effects);
/// Ends the node at once.
void finish(node_pointer self, const std::string& why, std::optional<error> failure = {});

/// Runs when no worker uses the store: after all current effects are performed, or later.
void between_waves(node_pointer self, std::function<void()> what);
/// Stores private values as of that version, once.
void store_values(node_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version);
/// Syncs the values stored between waves.
void sync_values(node_pointer self);
/// Ends the wave when its workers are done, runs the waiting actions, and begins the next.
void continue_work(node_pointer self);

}  // namespace furlong::actors::federation
