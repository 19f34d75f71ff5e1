#include "federated/simulation/add_mode.hpp"

#include <algorithm>

#include "federated/aggregation/rule.hpp"
#include "federated/attack/attack.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated {

namespace {

constexpr std::uint64_t most_retained_bytes = 1ULL << 30U;

/// Most updates that one version can have, and tasks whose private values wait for its sum.
std::uint64_t updates_at_once(const participation_settings& participation) {
  if (participation.mode == participation_mode::async)
    return std::uint64_t{participation.buffer} + participation.concurrency;
  return participation.policy.traits.draws_cohort ? participation.cap : asked_per_round(participation);
}

bool needs_single_updates(const run_settings& settings) {
  return settings.topology->nodes > 0 || settings.privacy->secure_aggregation ||
         settings.algorithm->traits.sees_updates || settings.aggregation->rule.traits.holds_updates ||
         (settings.attack->entry != nullptr && settings.attack->entry->colludes());
}

}  // namespace

add_mode add_mode_of(const experiment& run) {
  const auto& settings = run.settings;
  const auto& participation = *settings.participation;
  const auto& rule = settings.aggregation->rule;
  if (needs_single_updates(settings)) return add_mode::by_run;
  const auto updates = updates_at_once(participation);
  if (updates > std::min<std::uint64_t>(settings.aggregation->max_updates, rule.traits.most_updates))
    return add_mode::by_run;
  const auto value_bytes = settings.algorithm->traits.keeps_state ? run.parts.private_->size() * sizeof(float) : 0;
  if (value_bytes > most_retained_bytes / updates) return add_mode::by_run;
  if (participation.mode == participation_mode::async) {
    const bool has_constants = !first_reference(*settings.aggregation, run.parts.shared).empty();
    const bool is_bound_to_version = settings.privacy->clip_quantile > 0;
    return rule.traits.takes_all && !has_constants && !is_bound_to_version ? add_mode::when_told : add_mode::by_run;
  }
  const bool all_count = participation.deadline <= 0 && participation.over_selection <= 1.0 && settings.events->empty();
  return all_count ? add_mode::at_once : add_mode::when_told;
}

}  // namespace furlong::federated
