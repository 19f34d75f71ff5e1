// Numbers in texts.
#pragma once

#include <charconv>
#include <optional>
#include <string_view>
#include <system_error>

namespace furlong {

/// The number that a text consists of: decimal digits, of signed numbers after a "-", as std::from_chars reads them.
/// Nothing if it has other characters, is empty, or does not fit.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number value{};
  const auto* const end = text.data() + text.size();
  const auto [stop, why] = std::from_chars(text.data(), end, value);
  return why == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace furlong
