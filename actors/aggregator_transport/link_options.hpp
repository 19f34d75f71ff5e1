// Options and callbacks of an operator link.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "actors/net/channel.hpp"

namespace furlong::actors::aggregator_transport {

struct link_options {
  /// Bytes of the largest accepted frame. By default the maximum of Cap'n Proto.
  std::size_t max_message = std::size_t{576} << 20;
  /// Bytes that may wait to be sent; beyond that the link is closed.
  std::size_t queue_limit = std::size_t{1} << 30;
  /// How long close() continues to send queued frames.
  std::chrono::milliseconds linger{2000};
};

/// A link is open. Called once per link, from a thread of the actor system, before all other callbacks; must not block.
/// The channel may be used at once. The link is closed with the last pointer to it.
using link_opened_callback = std::function<net::channel_events(const net::channel_ptr& channel)>;

}  // namespace furlong::actors::aggregator_transport
