// Characters of UTF-8 text.
#pragma once

#include <string>
#include <string_view>

namespace furlong {

/// Removes the first code point of a non-empty text and returns its bytes; nullopt if the text is not UTF-8 (RFC 3629:
/// shortest form, no surrogates, up to U+10FFFF).
[[nodiscard]] std::string_view next_character(std::string_view& rest);
/// A file's text without a byte order mark.
[[nodiscard]] std::string_view without_byte_order_mark(std::string_view text);
/// A letter A to Z in lower case; other bytes unchanged.
[[nodiscard]] char lower(char letter);
/// True when a whole text is UTF-8.
[[nodiscard]] bool is_utf8(std::string_view text);
/// What is not UTF-8 is replaced by U+FFFD: one for each byte, or for the longest beginning of a character.
[[nodiscard]] std::string valid_utf8(std::string_view text);

}  // namespace furlong
