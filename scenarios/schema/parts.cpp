#include "scenarios/schema/parts.hpp"

#include <algorithm>
#include <array>

#include "base/registry.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::string_view policy_key = "participation.policy=";
constexpr std::array<std::string_view, 5> keys = {
    "data.source=", "model.kind=", "algorithm.kind=", "algorithm.aggregation.rule=", policy_key};

template <class Entry>
void add(std::string_view key, const Entry* entry, source_code& to) {
  if (entry != nullptr && is_registered(*entry)) to[std::string(key) + entry->kind] = entry->version;
}

/// "version 2", or "none of its own": it is furlong's.
std::string version_in(const source_code& parts, const std::string& name) {
  const auto at = parts.find(name);
  return at == parts.end() ? "furlong's own" : "version " + at->second;
}

}  // namespace

source_code parts_of(const scenario& of) {
  source_code parts;
  add(keys[0], find_dataset(of.data_source), parts);
  add(keys[1], models::find_model(of.model_kind), parts);
  add(keys[2], federated::find_algorithm(of.settings.algorithm->kind), parts);
  add(keys[3], federated::find_rule(of.settings.aggregation->rule.kind), parts);
  add(keys[4], federated::find_policy(of.settings.participation->policy.kind), parts);
  return parts;
}

source_code told_parts_of(const scenario& of) {
  auto parts = parts_of(of);
  std::erase_if(parts, [](const auto& one) { return one.first.starts_with(policy_key); });
  return parts;
}

bool is_part(std::string_view name) {
  return std::ranges::any_of(keys, [&](std::string_view key) { return name.starts_with(key); });
}

result<void> check_parts(const scenario& of, const std::string& told) {
  const auto here = told_parts_of(of);
  const auto there = code_from(told);
  auto all = here;
  all.insert(there.begin(), there.end());
  for (const auto& [name, version] : all) {
    const auto ours = version_in(here, name);
    const auto theirs = version_in(there, name);
    if (ours != theirs)
      return fail(error::kind::usage, name, "is " + ours + " here, and " + theirs + " at the server",
                  "use the same build as the server, or give parts that compute the same the same `version`");
  }
  return {};
}

}  // namespace furlong::scenarios
