// The aggregator process's end of the link to its parent: hosts its role (federated/processes/uplink.hpp), and the
// actors of the relay and its gateway while it is open.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/federation/gateway.hpp"
#include "actors/net/address.hpp"
#include "federated/processes/backoff.hpp"

namespace furlong::actors::federation {

/// Functions of the process for the link. All are called on the link's thread.
struct parent_link_hooks {
  /// Starts opening a channel to that operator port; its events go to the actor as session_opened, session_frame and
  /// session_closed, and a failure as session_closed. `attempt` is their number.
  std::function<void(const session_events& to, const net::host_port& at, protocol::session_number attempt)> open = {};
  /// Prepares a run.
  std::function<result<std::shared_ptr<const federation_context>>(const protocol::welcome&)> prepare = {};
  /// Opens the ports for the run: nodes join at the gateway, aggregators at the relay.
  std::function<void(const std::shared_ptr<const federation_context>&, gateway_actor, relay_actor)> on_open = {};
  /// Closes them.
  std::function<void()> on_shut = {};
  /// The run is over, the link was stopped, or it gave up.
  std::function<void(const std::string& why, const std::optional<error>& failure)> on_over = {};
  clients_of_certificate clients_of = {};
  std::shared_ptr<admission_control> admission = {};
  protocol::branch_hello hello = {};
  net::host_port parent = {};  ///< the first address
  const std::atomic<bool>* stop = nullptr;
  federated::virtual_time give_up = 0;  ///< the link ends after this time without a parent; 0: never
};

class uplink_host;

struct parent_link_state {
  std::shared_ptr<uplink_host> host;
};

using parent_link_pointer = parent_link_actor::stateful_pointer<parent_link_state>;

parent_link_actor::behavior_type parent_link_behavior(parent_link_pointer self, parent_link_hooks hooks,
                                                      federated::processes::backoff pause);

}  // namespace furlong::actors::federation
