// The frames that a link has to send. Any thread queues them; the link's actor splits them into pieces.
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

}  // namespace furlong::actors::aggregator_transport
