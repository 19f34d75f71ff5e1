#include "scenarios/schema/parts.hpp"

#include <algorithm>
#include <array>

#include "base/registry.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/world/availability.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::string_view policy_key = "participation.policy=";
constexpr std::string_view availability_key = "devices.availability.kind=";
constexpr std::array<std::string_view, 6> keys = {
    "data.source=", "model.kind=", "algorithm.kind=", "algorithm.aggregation.rule=", policy_key, availability_key};

template <class Entry>
void add(std::string_view key, const Entry* entry, source_code& versions) {
  if (entry != nullptr && is_registered(*entry)) versions[std::string(key) + entry->kind] = entry->version;
}

/// "version 2", or "none of its own": it is furlong's.
std::string version_in(const source_code& parts, const std::string& name) {
  const auto found = parts.find(name);
  return found == parts.end() ? "furlong's own" : "version " + found->second;
}

}  // namespace

source_code parts_of(const scenario& run) {
  source_code parts;
  add(keys[0], find_dataset(run.data_source), parts);
  add(keys[1], models::find_model(run.model_kind), parts);
  add(keys[2], federated::find_algorithm(run.settings.algorithm->kind), parts);
  add(keys[3], federated::find_rule(run.settings.aggregation->rule.kind), parts);
  add(keys[4], federated::find_policy(run.settings.participation->policy.kind), parts);
  add(keys[5], federated::find_availability(run.settings.devices->availability.kind), parts);
  return parts;
}

source_code told_parts_of(const scenario& run) {
  auto parts = parts_of(run);
  std::erase_if(parts, [](const auto& part) {
    return part.first.starts_with(policy_key) || part.first.starts_with(availability_key);
  });
  return parts;
}

bool is_part(std::string_view name) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return name.starts_with(key); });
}

result<void> check_parts(const scenario& run, const std::string& told) {
  const auto here = told_parts_of(run);
  const auto there = code_from(told);
  auto both = here;
  both.insert(there.begin(), there.end());
  for (const auto& [name, version] : both) {
    const auto ours = version_in(here, name);
    const auto theirs = version_in(there, name);
    if (ours != theirs)
      return fail(error::kind::usage, name, "is " + ours + " here, and " + theirs + " at the server",
                  "use the same build as the server, or give parts that compute the same the same `version`");
  }
  return {};
}

}  // namespace furlong::scenarios
