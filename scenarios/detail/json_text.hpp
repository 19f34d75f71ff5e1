// Values of JSON where a name is expected.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace furlong::scenarios::detail {

/// A text, a whole number, true or false as text; nothing of other values.
[[nodiscard]] inline std::optional<std::string> text_of(const nlohmann::json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_number_integer() || value.is_boolean()) return value.dump();
  return std::nullopt;
}

}  // namespace furlong::scenarios::detail
