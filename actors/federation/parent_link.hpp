// The aggregator process's end of the link to its parent. Opens it, reopens it when it breaks, and runs a relay with a
// gateway while it is open: their state is void once the parent has given them up. A parent without room redirects it
// to another aggregator; when that one is lost, it starts again at the first address.
#pragma once

#include <chrono>

#include "actors/federation/gateway.hpp"
#include "actors/net/address.hpp"
#include "federated/processes/backoff.hpp"
#include "federated/processes/models_sent.hpp"
#include "federated/processes/repeated_failure.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

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

struct parent_link_state {
  parent_link_hooks hooks;
  std::optional<federated::processes::backoff> pause;
  std::optional<net::host_port> redirected_to;  ///< where it was redirected, until that parent is lost
  protocol::session_number attempt = 0;
  net::channel_ptr channel;
  bool trying = false;
  federated::virtual_time try_at = 0;
  federated::virtual_time without_parent_since = 0;  ///< start of the time without a relay
  std::shared_ptr<const federation_context> run;     ///< of the relay
  relay_actor relay;
  gateway_actor gateway;  ///< of the relay
  std::optional<wire::decoder> decoder;
  std::optional<wire::encoder> encoder;
  processes::models_received models;
  /// The parent's close notice at the end of the run. The link ends after the relay.
  std::optional<protocol::close_notice> leaving;
  std::optional<error> own_failure;                ///< for which this aggregator asked the parent to end the run
  federated::processes::repeated_failure failure;  ///< of this aggregator, or of its parent
  bool over = false;
};

using parent_link_pointer = parent_link_actor::stateful_pointer<parent_link_state>;

parent_link_actor::behavior_type parent_link_behavior(parent_link_pointer self, parent_link_hooks hooks,
                                                      federated::processes::backoff pause);

}  // namespace furlong::actors::federation
