// The framing of the byte stream of one direction.
//
// A stream is a sequence of pieces. A piece is a header of 4 bytes, little-endian, and its body:
//
//   bits 0..23   length of the body, 0 to 2^20
//   bit 24       last piece of its frame
//   bits 25..26  kind: data, heartbeat, busy, close
//   bit 27       0
//   bits 28..31  15: what starts otherwise is not of this protocol, or of another version
// A frame is one or more pieces of kind data. With more than one, 8 bytes with its whole length are between the header
// and the body of the first, so that the receiver knows the length before it allocates. A heartbeat shows that a side
// is alive; busy shows that it is alive and does not read before it has memory. They and close may be between the
// pieces of a frame. A close has the reason as its body, at most 255 bytes of text.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace furlong::actors::net::detail {

constexpr std::size_t largest_piece = 1 << 20;
constexpr std::size_t longest_reason = 255;
constexpr std::size_t header_bytes = 4;
constexpr std::size_t total_bytes = 8;

enum class piece_kind : std::uint8_t { data, heartbeat, busy, close };

struct piece_header {
  std::uint32_t length = 0;
  bool last = true;
  piece_kind kind = piece_kind::data;
};

[[nodiscard]] std::array<std::byte, header_bytes> encode(const piece_header& header);
/// nullopt if these bytes are not a header.
[[nodiscard]] std::optional<piece_header> decode(std::span<const std::byte, header_bytes> bytes);

[[nodiscard]] std::array<std::byte, total_bytes> encode_total(std::uint64_t total);
[[nodiscard]] std::uint64_t decode_total(std::span<const std::byte, total_bytes> bytes);

}  // namespace furlong::actors::net::detail
