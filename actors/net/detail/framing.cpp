#include "actors/net/detail/framing.hpp"

namespace furlong::actors::net::detail {

namespace {

constexpr std::uint32_t mark = 0xF0000000U;
constexpr std::uint32_t zero_bit = 1U << 27;
constexpr std::uint32_t last_bit = 1U << 24;
constexpr unsigned kind_shift = 25;
constexpr std::uint32_t length_mask = 0xFFFFFFU;

template <class Word, std::size_t N>
std::array<std::byte, N> store(Word value) {
  std::array<std::byte, N> bytes{};
  for (std::size_t i = 0; i < N; ++i) bytes[i] = static_cast<std::byte>((value >> (8 * i)) & 0xFF);
  return bytes;
}
template <class Word, std::size_t N>
Word load(std::span<const std::byte, N> bytes) {
  Word value = 0;
  for (std::size_t i = 0; i < N; ++i) value |= static_cast<Word>(std::to_integer<Word>(bytes[i]) << (8 * i));
  return value;
}

bool is_sound(const piece_header& header) {
  switch (header.kind) {
    case piece_kind::data: return header.length <= largest_piece && (header.last || header.length > 0);
    case piece_kind::heartbeat:
    case piece_kind::busy: return header.last && header.length == 0;
    case piece_kind::close: break;
  }
  return header.last && header.length <= longest_reason;
}

}  // namespace

std::array<std::byte, header_bytes> encode(const piece_header& header) {
  return store<std::uint32_t, header_bytes>(mark | header.length | (header.last ? last_bit : 0) |
                                            static_cast<std::uint32_t>(header.kind) << kind_shift);
}

std::optional<piece_header> decode(std::span<const std::byte, header_bytes> bytes) {
  const auto word = load<std::uint32_t>(bytes);
  if ((word & mark) != mark || (word & zero_bit) != 0) return std::nullopt;
  const piece_header header{word & length_mask, (word & last_bit) != 0,
                            static_cast<piece_kind>((word >> kind_shift) & 3U)};
  if (!is_sound(header)) return std::nullopt;
  return header;
}

std::array<std::byte, total_bytes> encode_total(std::uint64_t total) {
  return store<std::uint64_t, total_bytes>(total);
}
std::uint64_t decode_total(std::span<const std::byte, total_bytes> bytes) { return load<std::uint64_t>(bytes); }

}  // namespace furlong::actors::net::detail
