// What the two sides of an operator link agree on, and what each is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>

#include "actors/net/channel.hpp"

namespace furlong::actors::aggregator_transport {

struct link_options {
  /// Bytes of the largest frame that is taken. What Cap'n Proto can hold fits.
  std::size_t max_message = std::size_t{576} << 20;
  /// Bytes that may wait to be sent; when more do, the link is closed.
  std::size_t queue_limit = std::size_t{1} << 30;
  /// How long close() goes on sending what waits.
  std::chrono::milliseconds linger{2000};
};

/// A link is open. Called once per link, from a thread of the actor system, before anything else is told of it; hand
/// over and return. The channel may be used at once. When the last pointer to it is gone, the link is closed.
using link_opened_callback = std::function<net::channel_events(const net::channel_ptr& channel)>;

}  // namespace furlong::actors::aggregator_transport
