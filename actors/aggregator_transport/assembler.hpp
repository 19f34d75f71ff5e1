// Puts the frames of a link together again.
#pragma once

#include <functional>
#include <optional>

#include "actors/aggregator_transport/piece.hpp"
#include "actors/net/channel.hpp"

namespace furlong::actors::aggregator_transport {

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
