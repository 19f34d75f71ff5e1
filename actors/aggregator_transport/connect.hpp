// Opens a link to the operator port of another process.
#pragma once

#include <caf/actor_system.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "actors/aggregator_transport/link.hpp"
#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

struct operator_target {
  std::string host;
  std::uint16_t port = 0;
  std::chrono::milliseconds within{5000};  ///< until the link is open, or on_failed is called
};

/// Returns at once. Exactly one of the two is called, from a thread of the actor system: `on_open` when the link is
/// open, or `on_failed` (runtime errors): the name is unknown; the connection was refused, or not answered in time; it
/// ended in the handshake (other authority, certificate expired, TLS at one side only: with OpenSSL's reason, if any);
/// another program or version listens there. Neither is called if the actor system ends before. To reconnect after a
/// failure or a closed link, call it again: CAF makes a new connection if the old one is closed, and shares it
/// otherwise.
void operator_connect(caf::actor_system& system, const operator_target& target, const link_options& options,
                      link_opened_callback on_open, std::function<void(const error& why)> on_failed);

}  // namespace furlong::actors::aggregator_transport
