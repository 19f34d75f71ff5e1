// The frames that a link has to send. Any thread queues them; the link's actor splits them into pieces.
//
// A piece is at most piece_bytes long and holds the next bytes of the frames in their order: the rest of a frame that
// was begun, then whole frames, then the begin of one that does not fit. So a large frame does not delay heartbeats,
// and small frames share the cost of a message.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/net/channel.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::aggregator_transport {

/// Payload of one piece, bytes.
inline constexpr std::size_t piece_bytes = std::size_t{1} << 20;
/// Slices of one piece.
inline constexpr std::size_t piece_slices = 4096;

/// Bytes [offset, offset + bytes.size()) of a frame of `total` bytes. Only an empty frame has an empty slice.
struct slice {
  std::uint64_t total = 0;
  std::uint64_t offset = 0;
  std::span<const std::byte> bytes;
};

/// Copies share the bytes.
struct piece {
  std::uint64_t sequence = 0;  ///< of its direction, from 0: a gap is a lost piece
  std::vector<slice> slices;

  std::vector<wire::encoded> frames;          ///< sender: whose bytes the slices are
  std::shared_ptr<const std::byte[]> buffer;  ///< receiver: likewise
  std::string flaw;                           ///< receiver: why the piece cannot be used; empty when it can

  /// Payload, bytes.
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& one : slices) sum += one.bytes.size();
    return sum;
  }
};

/// Thread-safe.
class outbox {
 public:
  /// @param limit bytes that may wait; a frame beyond it is dropped and recorded
  /// @param max_message bytes of the longest frame; a longer one is dropped and recorded
  explicit outbox(std::size_t limit, std::size_t max_message = std::numeric_limits<std::size_t>::max())
      : limit_(limit), max_message_(max_message) {}

  /// Queues a frame, unless the box is shut. True if the link must be woken.
  [[nodiscard]] bool push(wire::encoded frame);

  /// The next piece; nullopt if no frame waits. Its bytes count as queued until acknowledged.
  [[nodiscard]] std::optional<piece> cut();
  /// The peer has processed the oldest unacknowledged piece. False if there is none.
  [[nodiscard]] bool acknowledge();

  /// Accepts no more frames; waiting ones are still split.
  void shut();
  /// Accepts no more frames and drops waiting ones.
  void abandon();

  [[nodiscard]] std::size_t in_flight() const;  ///< pieces not acknowledged
  [[nodiscard]] std::size_t queued() const;     ///< bytes waiting or not acknowledged
  [[nodiscard]] bool drained() const;           ///< nothing waits, everything is acknowledged
  [[nodiscard]] bool overflowed() const;
  [[nodiscard]] std::size_t too_long() const;  ///< bytes of the frame that exceeded the limit; 0: none
  [[nodiscard]] std::size_t limit() const { return limit_; }
  void set_max_message(std::size_t bytes) { max_message_ = bytes; }
  [[nodiscard]] std::size_t max_message() const { return max_message_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> max_message_;
  mutable std::mutex mutex_;
  std::deque<wire::encoded> waiting_;
  std::size_t offset_ = 0;             ///< bytes of the first waiting frame that are in pieces
  std::size_t waiting_bytes_ = 0;      ///< without those
  std::deque<std::size_t> in_flight_;  ///< bytes of each piece
  std::size_t in_flight_bytes_ = 0;
  std::uint64_t sequence_ = 0;
  bool shut_ = false;
  bool woken_ = false;  ///< the link will check the box, now or with its next credit
  bool overflowed_ = false;
  std::size_t too_long_ = 0;
};

// Puts the frames of a link together again.

/// One direction of one link. Not thread-safe.
class assembler {
 public:
  /// @param max_message bytes of the largest frame; the announced size is held against it before anything is allocated
  explicit assembler(std::size_t max_message) : max_message_(max_message) {}
  /// For frames that are announced from now on.
  void limit(std::size_t max_message) { max_message_ = max_message; }

  /// Hands every frame that the piece completes to `on_frame`, in order. Why the other side broke the framing, if so:
  /// a piece is missing, its slices are not the next bytes, a frame is too large. After that it takes no more.
  [[nodiscard]] std::optional<std::string> add(const piece& next,
                                               const std::function<void(net::received frame)>& on_frame);

 private:
  [[nodiscard]] std::optional<std::string> begin(const slice& first);

  std::size_t max_message_;
  std::uint64_t sequence_ = 0;          ///< of the next piece
  std::optional<net::received> frame_;  ///< that was begun
  std::size_t filled_ = 0;              ///< bytes of it that are there
};

}  // namespace furlong::actors::aggregator_transport
