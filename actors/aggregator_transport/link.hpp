// One end of an operator link: an actor that sends the frames of an outbox to its counterpart in another process, and
// hands over those that arrive.
//
//  1. It waits for the other side: link_opened where it connected, link_ready where it listens. Until then nobody is
//     told of it, and if it ends before, nobody ever is.
//  2. on_open is called with the channel, which queues frames in the outbox and wakes the link.
//  3. It sends pieces while fewer than link_credits are unanswered. For each piece that it gets it hands over the
//  frames
//     that are complete, then gives the credit back: whoever is slow at on_frame slows the other side down.
//  4. It ends, and calls on_closed once: close() was called and all was sent (or the time for that is over), the other
//     side said goodbye, ended or cannot be reached any more (its connection broke, or was silent for too long), the
//     framing was broken, or too much waits.
//
// What the two sides of an operator link agree on, and what each is told.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <memory>
#include <optional>

#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/outbox.hpp"
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

/// What a link starts from.
struct link_start {
  link_options options;
  net::peer other;               ///< where it connects, its name comes with link_opened
  std::string connection;        ///< numeric address of the other side; where it connects, comes with link_opened
  link_opened_callback on_open;  ///< not called when it is empty
  remote_link counterpart;       ///< where it listens
};

struct link_state {
  link_state() = default;
  link_state(const link_state&) = delete;
  link_state& operator=(const link_state&) = delete;
  /// Whatever ended the actor, on_closed is called.
  ~link_state();

  link_start start;
  std::shared_ptr<outbox> out;
  std::optional<assembler> in;
  remote_link counterpart;
  std::optional<net::channel_events> events;  ///< once open, until closed
  bool closing = false;                       ///< close() was called

  /// Calls on_closed, the first time.
  void closed(const error& why);
};

/// @param start shared because CAF copies the arguments of a spawn; taken by the first actor spawned from it
link_actor::behavior_type link_behavior(link_actor::stateful_pointer<link_state> self,
                                        std::shared_ptr<link_start> start);

}  // namespace furlong::actors::aggregator_transport
