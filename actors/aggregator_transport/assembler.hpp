// Reassembles the frames of a link.
#pragma once

#include <functional>
#include <optional>

#include "actors/aggregator_transport/piece.hpp"
#include "actors/net/channel.hpp"

namespace furlong::actors::aggregator_transport {

/// One direction of one link. Not thread-safe.
class assembler {
 public:
  /// @param max_message bytes of the largest frame; the announced size is checked before anything is allocated
  explicit assembler(std::size_t max_message) : max_message_(max_message) {}
  /// Applies to frames announced later.
  void limit(std::size_t max_message) { max_message_ = max_message; }

  /// Passes every frame that the piece completes to `on_frame`, in order. Returns the error of the framing, if any: a
  /// piece is missing, its slices are not the next bytes, a frame is too large. It then accepts no more pieces.
  [[nodiscard]] std::optional<std::string> add(const piece& next,
                                               const std::function<void(net::received frame)>& on_frame);

 private:
  [[nodiscard]] std::optional<std::string> begin(const slice& first);

  std::size_t max_message_;
  std::uint64_t sequence_ = 0;          ///< of the next piece
  std::optional<net::received> frame_;  ///< the incomplete frame
  std::size_t filled_ = 0;              ///< bytes of it received
};

}  // namespace furlong::actors::aggregator_transport
