#include "scenarios/node_scenario.hpp"

#include <algorithm>
#include <array>

namespace furlong::scenarios {

namespace {

/// Files on the machine that a scenario runs on.
constexpr std::array<std::string_view, 3> paths = {"data.path", "private.key_file", "devices.availability.trace"};
/// What only a simulation, or only the server, looks at.
constexpr std::array<std::string_view, 6> elsewhere = {
    "devices.", "dropout.", "scenario.until.", "scenario.epochs", "participation.fraction", "evaluation.target."};

bool stays_here(std::string_view key) {
  return std::ranges::find(paths, key) != paths.end() ||
         std::ranges::any_of(elsewhere, [&](std::string_view prefix) { return key.starts_with(prefix); });
}

}  // namespace

std::string node_toml(const scenario& of) {
  auto copy = of;
  copy.records.clear();
  copy.expectations.clear();
  models::option_values values;
  for (const auto& [name, value] : of.values.all())
    if (!stays_here(name)) values.set(name, value);
  values.set("scenario.rounds", static_cast<std::int64_t>(of.settings.rounds));
  if (of.settings.participation.mode == federated::participation_mode::sync)
    values.set("participation.per_round", static_cast<std::int64_t>(of.settings.participation.per_round));
  copy.values = std::move(values);
  return resolved_toml(copy);
}

result<scenario> parse_node_scenario(const std::string& text, const std::vector<setting_override>& own) {
  auto read = parse_scenario_text(text, "the server's scenario");
  if (!read) return fail(error::kind::usage, "the server's scenario", read.error().front().text());
  for (const auto path : paths)
    if (read->places.contains(path))
      return fail(error::kind::usage, "the server's scenario", "names a file of this machine in " + std::string(path),
                  "trust another server");
  if (own.empty()) return std::move(*read);
  auto again = parse_scenario_text(text, "the server's scenario", own);
  if (!again) return fail(error::kind::usage, "the server's scenario", again.error().front().text());
  return std::move(*again);
}

}  // namespace furlong::scenarios
