// The aggregator process's end of the link to its parent. Opens it, opens it again when it breaks, and has a gateway as
// long as it is open: what the gateway knows is worth nothing once the parent has given it up.
#pragma once

#include <chrono>
#include <deque>

#include "actors/federation/gateway.hpp"
#include "actors/net/backoff.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

/// What the link needs of its process. All are called on the link's thread.
struct parent_link_hooks {
  /// Begins to open a channel; its events go to the actor as session_opened, session_frame and session_closed, and a
  /// failure as session_closed. `attempt` is to be their number.
  std::function<void(const session_events& to, protocol::session_number attempt)> open = {};
  /// Makes ready for a run.
  std::function<result<std::shared_ptr<const federation_context>>(const protocol::welcome&)> prepare = {};
  /// The gateway that nodes come in by from now on; null: there is none.
  std::function<void(gateway_actor)> on_gateway = {};
  /// The run is over, the link was told to stop, or it gave up.
  std::function<void(const std::string& why, const std::optional<error>& failure)> on_over = {};
  clients_of_certificate clients_of = {};
  std::shared_ptr<gate> keeper = {};
  protocol::branch_hello hello = {};
  const std::atomic<bool>* stop = nullptr;
  federated::virtual_time give_up = 0;  ///< the link ends when it had no parent for so long; 0: never
};

struct parent_link_state {
  parent_link_hooks hooks;
  std::optional<net::backoff> pause;
  protocol::session_number attempt = 0;
  net::channel_ptr channel;
  bool trying = false;
  federated::virtual_time try_at = 0;
  federated::virtual_time alone_since = 0;        ///< while there is no gateway
  std::shared_ptr<const federation_context> run;  ///< of the gateway
  std::uint32_t number = 0;
  gateway_actor gateway;
  std::optional<wire::decoder> decoder;
  std::optional<wire::encoder> encoder;
  std::deque<federated::broadcast_ptr> models;
  bool over = false;
};

parent_link_actor::behavior_type parent_link_behavior(parent_link_actor::stateful_pointer<parent_link_state> self,
                                                      parent_link_hooks hooks, net::backoff pause);

}  // namespace furlong::actors::federation
