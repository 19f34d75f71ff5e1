// How a node works: in waves, between which the store is made durable and changed from the node's thread.
#pragma once

#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

using node_pointer = node_actor::stateful_pointer<node_state>;

/// Performs what the machine wants, then goes on with the work.
void perform_all(node_pointer self, protocol::node_effects effects);
/// Ends the node at once.
void finish(node_pointer self, const std::string& why, std::optional<error> failure = {});

/// When no worker is at it: as soon as all effects under way are performed, or later.
void between_waves(node_pointer self, std::function<void()> what);
/// Keeps private values as of that version, once.
void keep_values(node_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version);
/// Makes durable what was kept between waves.
void sync_kept(node_pointer self);
/// Ends the wave when it is over, does what waited for that, and begins the next.
void go_on(node_pointer self);

}  // namespace furlong::actors::federation
