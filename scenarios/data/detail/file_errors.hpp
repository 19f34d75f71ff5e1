// Errors about a place in a data file.
#pragma once

#include <array>
#include <charconv>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace furlong::scenarios::detail {

/// The file is invalid.
[[nodiscard]] inline tl::unexpected<error> refuse(const std::string& place, std::string why, std::string fix) {
  return fail(error::kind::data, place, std::move(why), std::move(fix));
}

/// The file is valid but contradicts the scenario.
[[nodiscard]] inline tl::unexpected<error> contradict(const std::string& place, std::string why, std::string fix) {
  return fail(error::kind::usage, place, std::move(why), std::move(fix));
}

/// The shortest text of a number.
[[nodiscard]] inline std::string number_text(float value) {
  std::array<char, 32> text{};
  const auto [end, why] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

}  // namespace furlong::scenarios::detail
