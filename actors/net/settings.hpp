// Limits and times of a connection of the node transport.
#pragma once

#include <chrono>
#include <cstddef>
#include <limits>

namespace furlong::actors::net {

struct channel_settings {
  std::chrono::milliseconds heartbeat{2000};  ///< a side that has sent nothing for this time sends a heartbeat
  std::chrono::milliseconds timeout{3000};    ///< in addition to `heartbeat`: permitted silence of the peer
  std::size_t max_message = 64 << 20;         ///< bytes of the longest frame in either direction
  std::size_t max_first = std::numeric_limits<std::size_t>::max();  ///< a server's likewise, until channel::limit()
  std::size_t max_queued = 64 << 20;       ///< bytes that may wait to be sent when a frame is added
  std::size_t slowest = 16 << 10;          ///< minimum bytes per second of an arriving frame, after `timeout`
  std::chrono::milliseconds turn{60'000};  ///< maximum time of a frame at its rate while others wait for room
  std::size_t max_unread = 1 << 20;        ///< bytes of small frames that the consumer may hold before reading pauses
  std::chrono::seconds patience{120};      ///< how long a client may read nothing while it reports busy
  std::chrono::seconds server_patience{
      3600};                               ///< likewise a server: it reads large frames in turn, each in bounded time
  std::chrono::milliseconds linger{1000};  ///< how long close() may send queued frames
  std::chrono::milliseconds opening{10'000};  ///< how long the handshake, and a client's whole connecting, may take
};

/// Frames above this length are read only once the budget has room for them.
constexpr std::size_t small_frame = 64 << 10;

}  // namespace furlong::actors::net
