#include "scenarios/schema/fit_robust.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "federated/aggregation/robust/robust_rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "scenarios/schema/fit_attack.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

result<void> check_tolerated(const scenario& fitted) {
  const auto& settings = fitted.settings;
  const auto& rule = settings.aggregation->rule;
  const auto& participation = *settings.participation;
  if (!settings.algorithm->traits.sends || participation.policy.traits.draws_cohort) return {};
  const bool has_buckets = rule.kind == "buckets";
  const auto& known = federated::robust::robust_rules();
  const auto compared = std::ranges::find(known, has_buckets ? rule.options.text("then") : rule.kind,
                                          &federated::robust::robust_rule::kind);
  if (compared == known.end() && rule.kind != "arc") return {};
  const std::size_t updates = participation.per_round;
  const auto bad = federated::robust::tolerated(rule.options.number("tolerate"), updates);
  const auto needed = compared == known.end() ? 2 * bad + 1 : federated::robust::fewest_updates(*compared, bad);
  const std::string unit = has_buckets ? " buckets" : " updates";
  const auto why = [&](std::size_t count) {
    return "gives " + std::to_string(count) + unit + " a round, and " + rule.kind + " needs " + std::to_string(needed) +
           " to tolerate " + std::to_string(bad) + " bad updates";
  };
  const std::string fix = "raise it, or lower algorithm.aggregation.tolerate";
  if (updates < needed) {
    const bool async = participation.mode == federated::participation_mode::async;
    return refuse(fitted,
                  async                                         ? "participation.buffer"
                  : fitted.values.has("participation.fraction") ? "participation.fraction"
                                                                : "participation.per_round",
                  why(updates), fix);
  }
  if (!has_buckets) return {};
  const auto buckets = static_cast<std::size_t>(rule.options.integer("buckets"));
  return buckets < needed ? refuse(fitted, "algorithm.aggregation.buckets", why(buckets), fix) : result<void>();
}

result<void> check_root(scenario& fitted, std::span<const std::uint32_t> training) {
  const auto& rule = fitted.settings.aggregation->rule;
  if (!rule.options.has("root")) return {};
  const auto& clients = rule.options.numbers("root");
  for (const double client : clients)
    if (!std::ranges::binary_search(training, static_cast<std::uint32_t>(client)))
      return refuse(fitted, "algorithm.aggregation.root",
                    "names client " + std::to_string(static_cast<std::uint32_t>(client)) + ", which does not train",
                    "name clients that do");
  const auto& participation = *fitted.settings.participation;
  if (participation.policy.traits.draws_cohort) return {};
  const std::uint64_t drawn = std::min<std::uint64_t>(participation.per_round, training.size());
  std::array<char, 32> odds{};
  std::snprintf(odds.data(), odds.size(), "%.2g", 1.0 - odds_of_more(training.size(), clients.size(), drawn, 0));
  fitted.notes.push_back(std::to_string(clients.size()) + " of " + std::to_string(training.size()) +
                         " clients are trusted: a uniform draw of " + std::to_string(drawn) +
                         " has none of them with probability " + odds.data() +
                         ", and is compared with those of an earlier version");
  return {};
}

}  // namespace furlong::scenarios
