// Pieces of frames, the messages between two links. A piece is at most piece_bytes long, and holds the next bytes of
// the frames in the order of the queue: the rest of an incomplete frame, then whole frames, then the beginning of one
// that does not fit. A large frame therefore does not delay heartbeats, and small ones share the cost of a message.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

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
  std::uint64_t sequence = 0;  ///< of its direction, from 0: detects lost pieces
  std::vector<slice> slices;

  std::vector<wire::encoded> frames;          ///< sender: the owners of the slices' bytes
  std::shared_ptr<const std::byte[]> buffer;  ///< receiver: likewise
  std::string flaw;                           ///< receiver: why the piece is invalid; otherwise empty

  /// Payload, bytes.
  [[nodiscard]] std::size_t size() const {
    std::size_t sum = 0;
    for (const auto& one : slices) sum += one.bytes.size();
    return sum;
  }
};

}  // namespace furlong::actors::aggregator_transport
