// The run that --smoke makes of a scenario: the one of its [smoke] table, else its first rounds.
#pragma once

#include "scenarios/schema/scenario.hpp"

namespace furlong::tools {

/// Rounds of a smoke run of a scenario without [smoke] table.
constexpr int smoke_rounds = 3;

/// Reads a scenario, or with `smoke` its small variant; where there is no [smoke] table, `smoke_rounds` rounds of the
/// scenario, of which nothing is expected.
[[nodiscard]] inline tl::expected<scenarios::scenario, std::vector<scenarios::problem>> parse_variant(
    const std::filesystem::path& file, std::vector<scenarios::setting_override> overrides, bool smoke) {
  auto parsed =
      scenarios::parse_scenario(file, overrides, smoke ? scenarios::variant::smoke : scenarios::variant::full);
  if (!smoke || !parsed || parsed->has_smoke) return parsed;
  overrides.push_back({"scenario.rounds", std::to_string(smoke_rounds)});
  auto cut = scenarios::parse_scenario(file, overrides, scenarios::variant::smoke);
  if (cut) cut->expectations.clear();
  return cut;
}

}  // namespace furlong::tools
