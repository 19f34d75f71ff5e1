#include "base/plain_text.hpp"

#include "base/utf8.hpp"

namespace furlong {

namespace {

bool is_control(std::string_view character) {
  const auto lead = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return lead < 0x20 || lead == 0x7F;
  // U+0080 to U+009F, which some terminals obey as they do ESC [.
  if (lead == 0xC2) return static_cast<unsigned char>(character[1]) < 0xA0;
  constexpr std::string_view turning[] = {"\u061C", "\u200E", "\u200F", "\u202A", "\u202B", "\u202C", "\u202D",
                                          "\u202E", "\u2066", "\u2067", "\u2068", "\u2069", "\u2028", "\u2029"};
  for (const auto mark : turning)
    if (character == mark) return true;
  return false;
}

}  // namespace

std::string for_terminal(std::string_view text, std::size_t longest) {
  const std::string valid = valid_utf8(text);
  std::string_view rest = valid;
  std::string out;
  for (std::size_t characters = 0; !rest.empty(); ++characters) {
    if (characters == longest) return out + "...";
    const auto character = next_character(rest);
    out += is_control(character) ? std::string_view("?") : character;
  }
  return out;
}

}  // namespace furlong
