// The frames that a link has yet to send. Any thread queues them; the link's actor cuts them into pieces.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>

#include "actors/aggregator_transport/piece.hpp"

namespace furlong::actors::aggregator_transport {

/// Thread-safe.
class outbox {
 public:
  /// @param limit bytes that may wait; one frame too many is dropped and noted
  /// @param max_message bytes of the longest frame, either way; a longer one is dropped and noted
  explicit outbox(std::size_t limit, std::size_t max_message = std::numeric_limits<std::size_t>::max())
      : limit_(limit), max_message_(max_message) {}

  /// Queues a frame, unless the box is shut. True when the link must be told, for it may not know that there is work.
  [[nodiscard]] bool push(wire::encoded frame);

  /// The next piece; nothing when no frame waits. Its bytes count as queued until acknowledged.
  [[nodiscard]] std::optional<piece> cut();
  /// The other side has dealt with the oldest piece that was not acknowledged. False when there is none.
  [[nodiscard]] bool acknowledge();

  /// Takes no more frames; what waits is still cut.
  void shut();
  /// Takes no more frames and drops what waits.
  void abandon();

  [[nodiscard]] std::size_t in_flight() const;  ///< pieces not acknowledged
  [[nodiscard]] std::size_t queued() const;     ///< bytes waiting or not acknowledged
  [[nodiscard]] bool drained() const;           ///< nothing waits, everything is acknowledged
  [[nodiscard]] bool overflowed() const;
  [[nodiscard]] std::size_t too_long() const;  ///< bytes of the frame that was longer than it may be; 0: none was
  [[nodiscard]] std::size_t limit() const { return limit_; }
  void set_max_message(std::size_t bytes) { max_message_ = bytes; }
  [[nodiscard]] std::size_t max_message() const { return max_message_; }

 private:
  const std::size_t limit_;
  std::atomic<std::size_t> max_message_;
  mutable std::mutex mutex_;
  std::deque<wire::encoded> waiting_;
  std::size_t offset_ = 0;             ///< bytes of the first waiting frame that were cut
  std::size_t waiting_bytes_ = 0;      ///< without those
  std::deque<std::size_t> in_flight_;  ///< bytes of each piece
  std::size_t in_flight_bytes_ = 0;
  std::uint64_t sequence_ = 0;
  bool shut_ = false;
  bool told_ = false;  ///< the link will look, now or when it gets a credit
  bool overflowed_ = false;
  std::size_t too_long_ = 0;
};

}  // namespace furlong::actors::aggregator_transport
