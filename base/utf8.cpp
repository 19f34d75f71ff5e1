#include "base/utf8.hpp"

#include <algorithm>
#include <array>

namespace furlong {

namespace {

/// What a first byte determines: the number of bytes, and the bounds of the second one (RFC 3629, section 4).
struct shape {
  unsigned char first;
  unsigned char last;
  std::size_t bytes;
  unsigned char low = 0x80;
  unsigned char high = 0xBF;
};
constexpr std::array<shape, 8> shapes = {{{0xC2, 0xDF, 2},
                                          {0xE0, 0xE0, 3, 0xA0},
                                          {0xE1, 0xEC, 3},
                                          {0xED, 0xED, 3, 0x80, 0x9F},
                                          {0xEE, 0xEF, 3},
                                          {0xF0, 0xF0, 4, 0x90},
                                          {0xF1, 0xF3, 4},
                                          {0xF4, 0xF4, 4, 0x80, 0x8F}}};

bool is_ascii(char byte) { return static_cast<unsigned char>(byte) < 0x80; }
bool continues(char byte) { return (static_cast<unsigned char>(byte) & 0xC0U) == 0x80U; }

/// The shape of what begins with this byte; null: no character does.
const shape* shape_of(char byte) {
  const auto first = static_cast<unsigned char>(byte);
  const auto* const found =
      std::ranges::find_if(shapes, [&](const auto& s) { return first >= s.first && first <= s.last; });
  return found == shapes.end() ? nullptr : found;
}

/// Bytes of the longest beginning of a character that a text begins with, which is not a whole one; at least 1.
std::size_t broken_bytes(std::string_view text) {
  const auto* const begun = shape_of(text[0]);
  if (begun == nullptr || text.size() < 2) return 1;
  const auto second = static_cast<unsigned char>(text[1]);
  if (second < begun->low || second > begun->high) return 1;
  return text.size() > 2 && begun->bytes == 4 && continues(text[2]) ? 3 : 2;
}

}  // namespace

std::string_view next_character(std::string_view& rest) {
  std::size_t bytes = is_ascii(rest.front()) ? 1 : 0;
  if (bytes == 0) {
    const auto byte = [&](std::size_t position) { return static_cast<unsigned char>(rest[position]); };
    const auto* const shape = shape_of(rest[0]);
    if (shape == nullptr || rest.size() < shape->bytes || byte(1) < shape->low || byte(1) > shape->high) return {};
    for (std::size_t position = 2; position < shape->bytes; ++position)
      if (!continues(rest[position])) return {};
    bytes = shape->bytes;
  }
  const auto character = rest.substr(0, bytes);
  rest.remove_prefix(bytes);
  return character;
}

char lower(char letter) { return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter; }

std::string_view without_byte_order_mark(std::string_view text) {
  constexpr std::string_view mark = "\xEF\xBB\xBF";
  return text.starts_with(mark) ? text.substr(mark.size()) : text;
}

bool is_utf8(std::string_view text) {
  while (true) {
    text.remove_prefix(static_cast<std::size_t>(std::ranges::find_if_not(text, is_ascii) - text.begin()));
    if (text.empty()) return true;
    if (next_character(text).empty()) return false;
  }
}

std::string valid_utf8(std::string_view text) {
  std::string valid;
  while (!text.empty()) {
    const auto character = next_character(text);
    valid += character.empty() ? std::string_view("\uFFFD") : character;
    if (character.empty()) text.remove_prefix(broken_bytes(text));
  }
  return valid;
}

}  // namespace furlong
