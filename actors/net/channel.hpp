// One end of a channel of frames between two processes, over TLS.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "base/result.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::net {

/// The bytes of one received frame, aligned to 8 bytes. Copies share the bytes. They count against the transport's
/// memory until the last copy is gone: do not keep one longer than needed.
class received {
 public:
  received() = default;
  /// The bytes are not initialized. Throws std::bad_alloc.
  explicit received(std::size_t bytes)
      : words_(std::make_shared_for_overwrite<std::uint64_t[]>((bytes + 7) / 8)), size_(bytes) {}
  [[nodiscard]] std::span<std::byte> bytes() {
    return std::as_writable_bytes(std::span(words_.get(), (size_ + 7) / 8)).first(size_);
  }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return std::as_bytes(std::span<const std::uint64_t>(words_.get(), (size_ + 7) / 8)).first(size_);
  }
  /// Keeps `what`, a transport's reservation, until the bytes are freed.
  void hold(std::shared_ptr<const void> what) { held_ = std::move(what); }

 private:
  std::shared_ptr<const void> held_;  // before the bytes, so that it outlives them
  std::shared_ptr<std::uint64_t[]> words_;
  std::size_t size_ = 0;
};

/// The identity of the peer: from its certificate, or without TLS from the socket.
struct peer {
  std::string name;     ///< common name; empty without TLS
  std::string address;  ///< "host:port"
};

/// Thread-safe. Frames arrive in the order in which they were sent.
class channel {
 public:
  virtual ~channel() = default;
  channel() = default;
  channel(const channel&) = delete;
  channel& operator=(const channel&) = delete;

  /// Queues a frame; its bytes are shared, not copied. Frames for a closed channel are dropped.
  virtual void send(wire::encoded frame) = 0;
  /// Bytes queued and not yet passed to the operating system.
  [[nodiscard]] virtual std::size_t queued() const = 0;
  /// Limits the length of frames: a longer one from the peer is refused, and sending one closes the channel. Frames
  /// that were announced before are not affected.
  virtual void limit(std::size_t max_message) = 0;
  /// Sends queued frames for a bounded time, then closes. on_closed follows.
  virtual void close() = 0;
  [[nodiscard]] virtual const peer& other() const = 0;
};
using channel_ptr = std::shared_ptr<channel>;

/// The same channel, which is closed when the last copy of the pointer is gone: with an actor that owns it, or with a
/// message that no actor reads any more. Otherwise its peer would wait.
[[nodiscard]] inline channel_ptr owned(channel_ptr open) {
  auto* const same = open.get();
  return {same, [open = std::move(open)](channel* left) { left->close(); }};
}

/// Called one at a time per channel, from a thread of the transport: must not block.
struct channel_events {
  std::function<void(received frame)> on_frame;
  /// Once, after the last on_frame: either side closed, or the peer timed out or broke the framing (kind data).
  std::function<void(const error& why)> on_closed;
};

// ---- connections ---------------------------------------------------------------------------------------------------

/// Limits and times of a connection.
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

/// Why a connection failed.
enum class failure_cause : std::uint8_t {
  unknown_host,  ///< the name has no address
  refused,       ///< no listener there
  unreachable,   ///< no route, or another error of the network
  timed_out,     ///< no answer in time
  protocol,      ///< another protocol: no TLS, unexpected TLS, no frames
  untrusted,     ///< its certificate is of another authority, or not for this use
  expired,       ///< its certificate is expired or not yet valid
  wrong_host,    ///< its certificate is for another host
  rejected,      ///< the peer rejects our certificate or us: see the reason
  lost,          ///< the connection ended before it was open
  stopped,       ///< the transport ended
};

struct connect_failure {
  failure_cause cause = failure_cause::lost;
  error what;
};
/// A failure of kind runtime, without a place.
[[nodiscard]] inline connect_failure failed_by(failure_cause cause, std::string reason) {
  return {cause, {error::kind::runtime, "", std::move(reason), ""}};
}

}  // namespace furlong::actors::net
