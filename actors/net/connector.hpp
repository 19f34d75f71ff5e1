// The client's side: one attempt to reach a gateway or an operator port. The caller decides when to retry: see backoff.
#pragma once

#include <functional>
#include <optional>

#include "actors/net/address.hpp"
#include "actors/net/budget.hpp"
#include "actors/net/channel.hpp"
#include "actors/net/tls_context.hpp"
#include "actors/net/transport.hpp"

namespace furlong::actors::net {

/// Exactly one of the two is called, once, from a thread of the transport.
struct connect_events {
  /// The peer accepted the connection. Returns the channel's callbacks: no frame is missed.
  std::function<channel_events(channel_ptr)> on_open;
  std::function<void(const connect_failure&)> on_failed;
};

/// Resolves, connects and completes the handshake within settings.opening; returns at once.
/// @param tls  a client's; nullopt: plain TCP, for trusted machines only
/// @param room budget for large frames; null: unlimited
void connect(transport& on, const host_port& to, std::optional<tls_context> tls, const channel_settings& settings,
             budget_ptr room, connect_events events);

}  // namespace furlong::actors::net
