// One end of an operator link: an actor that sends the frames of an outbox to its counterpart in another process, and
// passes on the frames that it receives.
//
//  1. It waits for the peer: link_opened when connecting, link_ready when listening. Before that its user is not
//     notified of the link, nor of its end.
//  2. on_open is called with the channel, which queues frames in the outbox and wakes the link.
//  3. It sends pieces while fewer than link_credits are unacknowledged. For each received piece it passes on the
//  complete
//     frames, then returns the credit: a slow on_frame slows the peer down.
//  4. It ends, and calls on_closed once: close() was called and all was sent (or its time is over), the peer sent
//     goodbye, ended or became unreachable (its connection broke or timed out), the framing was broken, or too much is
//     queued.
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
  /// Largest accepted frame in bytes; the largest Cap'n Proto message fits.
  std::size_t max_message = std::size_t{576} << 20;
  /// Most bytes that may be queued; beyond them the link is closed.
  std::size_t queue_limit = std::size_t{1} << 30;
  /// How long close() continues to send queued frames.
  std::chrono::milliseconds linger{2000};
};

/// Called once per link when it opens, before any other event, from a thread of the actor system: pass on and return.
/// The channel may be used at once. The link closes when the last pointer to it is gone.
using link_opened_callback = std::function<net::channel_events(const net::channel_ptr& channel)>;

/// The start parameters of a link.
struct link_start {
  link_options options;
  net::peer other;               ///< when connecting, its name arrives with link_opened
  std::string connection;        ///< numeric address of the peer; when connecting, arrives with link_opened
  link_opened_callback on_open;  ///< may be empty
  remote_link counterpart;       ///< when listening
};

struct link_state {
  link_state() = default;
  link_state(const link_state&) = delete;
  link_state& operator=(const link_state&) = delete;
  /// on_closed is called for every end of the actor.
  ~link_state();

  link_start start;
  std::shared_ptr<outbox> out;
  std::optional<assembler> in;
  remote_link counterpart;
  std::optional<net::channel_events> events;  ///< while open
  bool closing = false;                       ///< close() was called

  /// Calls on_closed, the first time.
  void closed(const error& why);
};

/// @param start shared because CAF copies the arguments of a spawn; taken by the first actor spawned from it
link_actor::behavior_type link_behavior(link_actor::stateful_pointer<link_state> self,
                                        std::shared_ptr<link_start> start);

}  // namespace furlong::actors::aggregator_transport
