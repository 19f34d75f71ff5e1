// How an algorithm is called where runs stand beside each other.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/runs/scenario_settings.hpp"

namespace furlong::tools {

/// "furl", or "python (Moon)".
/// @param of_class python.algorithm, "moon.py:Moon"; empty: the algorithm has no class
[[nodiscard]] inline std::string algorithm_name(const std::string& kind, std::string_view of_class) {
  if (of_class.empty()) return kind;
  return kind + " (" + std::string(of_class.substr(of_class.rfind(':') + 1)) + ")";
}
/// The same by the settings of a scenario.
[[nodiscard]] inline std::string algorithm_name(const std::vector<scenario_setting>& settings) {
  const auto text_of = [&](std::string_view key) {
    const auto* value = find_setting(settings, key);
    return value == nullptr ? std::string() : *value;
  };
  return algorithm_name(text_of("algorithm.kind"), text_of("python.algorithm"));
}

}  // namespace furlong::tools
