// The node actor: hosts node_role in a real process. It opens its channels, encodes and decodes its messages, and gives
// its work to workers; what a node does is in federated/processes.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/federation/interfaces.hpp"
#include "actors/unscored_warnings.hpp"
#include "federated/processes/node_role.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

namespace processes = federated::processes;

/// Functions of the process for the node. Called on the node's thread.
struct node_hooks {
  /// Starts opening a channel to "host:port"; its events go to the actor as session_opened, session_frame and
  /// session_closed with that number, and a failure as session_closed.
  std::function<void(const session_events& to, const std::string& address, protocol::session_number attempt)> open = {};
  /// Prepares a run, after the previous one was released. An error ends the node.
  std::function<result<processes::node_run_ptr>(const protocol::welcome&)> prepare = {};
  /// The node has ended: the run is over, it was drained, or an error.
  std::function<void(const std::string& why, const std::optional<error>& failure)> on_over = {};
  const std::atomic<bool>* stop = nullptr;
};

/// A frame of an update.
struct update_frame final : processes::outgoing_update {
  explicit update_frame(wire::encoded made) : frame(std::move(made)) {}
  wire::encoded frame;
};

class node_host;

struct node_state {
  std::shared_ptr<node_host> host;
};

using node_pointer = node_actor::stateful_pointer<node_state>;

node_actor::behavior_type node_behavior(node_pointer self, processes::node_settings settings, std::size_t workers,
                                        processes::backoff pause, node_hooks hooks);

/// A worker trains and scores one client after another.
worker_actor::behavior_type worker_behavior(worker_actor::pointer self, node_actor parent);

}  // namespace furlong::actors::federation
