// JSON that a file holds: read with care, and shown in messages.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::scenarios::detail {

/// A text, a whole number, true or false as text; nothing of other values.
[[nodiscard]] inline std::optional<std::string> text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

/// A value for a message. Lists and objects are not written out: the library does so by recursion, and a file can nest
/// deeper than a stack.
[[nodiscard]] inline std::string brief(const nlohmann::json& value) {
  return value.is_array() ? "a list" : value.is_object() ? "an object" : value.dump();
}

/// Parses text of which no object may have a member twice: the library keeps the last one, and what the first said
/// would be lost.
/// @param repeated set to the first member that is twice; else left as it is
/// @throws nlohmann::json::exception as nlohmann::json::parse does
[[nodiscard]] inline nlohmann::json parse_members(std::string_view text, std::string& repeated) {
  using event = nlohmann::json::parse_event_t;
  std::vector<std::set<std::string, std::less<>>> members;
  bool found = false;
  return nlohmann::json::parse(text, [&](int, event what, const nlohmann::json& value) {
    if (what == event::object_start) members.emplace_back();
    if (what == event::object_end) members.pop_back();
    if (what == event::key && !found && !members.back().insert(value.get<std::string>()).second) {
      found = true;
      repeated = value.get<std::string>();
    }
    return true;
  });
}

}  // namespace furlong::scenarios::detail
