// The keys of a resolved scenario with their values.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace furlong::tools {

/// A dotted key and its value as TOML, a text without quotes.
using scenario_setting = std::pair<std::string, std::string>;

/// In the order of the file. Empty for what is no TOML.
[[nodiscard]] std::vector<scenario_setting> scenario_settings(std::string_view text);
/// The value of a key, or null.
[[nodiscard]] const std::string* find_setting(const std::vector<scenario_setting>& settings, std::string_view key);

}  // namespace furlong::tools
