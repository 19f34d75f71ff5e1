// What travels between two links: pieces of frames.
//
// A piece is at most piece_bytes long, and holds the next bytes of the frames in the order in which they were queued:
// the rest of a frame that was begun, then whole frames, then the begin of one that has no room. So a large frame does
// not keep heartbeats waiting, and small ones share the cost of a message.
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
  std::uint64_t sequence = 0;  ///< of its direction, from 0: tells a lost piece
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

}  // namespace furlong::actors::aggregator_transport
