#include "tools/runs/scenario_settings.hpp"

#include <algorithm>
#include <tuple>

#include "scenarios/schema/toml_document.hpp"

namespace furlong::tools {

namespace {

std::string setting_text(const scenarios::toml_value& value) {
  std::string inner;
  const auto add = [&](const std::string& text) { inner += (inner.empty() ? "" : ", ") + text; };
  if (const auto* items = std::get_if<std::vector<scenarios::toml_value>>(&value.data)) {
    for (const auto& item : *items) add(setting_text(item));
    return "[" + inner + "]";
  }
  if (const auto* entries = std::get_if<std::vector<scenarios::toml_entry>>(&value.data)) {
    for (const auto& entry : *entries) add(entry.key + " = " + setting_text(entry.value));
    return "{" + inner + "}";
  }
  if (const auto* text = std::get_if<std::string>(&value.data)) return *text;
  return scenarios::to_text(value);
}

}  // namespace

std::vector<scenario_setting> scenario_settings(std::string_view text) {
  auto read = scenarios::parse_toml(text);
  if (!read) return {};
  std::ranges::stable_sort(read->values, [](const auto& a, const auto& b) {
    return std::tuple(a.at.line, a.at.column) < std::tuple(b.at.line, b.at.column);
  });
  std::vector<scenario_setting> settings;
  for (const auto& entry : read->values) settings.emplace_back(entry.key, setting_text(entry.value));
  return settings;
}

const std::string* find_setting(const std::vector<scenario_setting>& settings, std::string_view key) {
  const auto found = std::ranges::find_if(settings, [&](const auto& setting) { return setting.first == key; });
  return found == settings.end() ? nullptr : &found->second;
}

}  // namespace furlong::tools
