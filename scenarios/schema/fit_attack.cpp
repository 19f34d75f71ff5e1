#include "scenarios/schema/fit_attack.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/exact_math.hpp"
#include "federated/aggregation/robust/robust_rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/attackers.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/scored_groups.hpp"

namespace furlong::scenarios {

result<void> check_attackers(const scenario& fitted, std::span<const std::uint32_t> training) {
  const auto& attack = *fitted.settings.attack;
  if (attack.kind == federated::attack_kind::none) return {};
  const auto& algorithm = *fitted.settings.algorithm;
  if (attack.kind != federated::attack_kind::label_flip && !algorithm.does->sends_model())
    return refuse(fitted, "attack.kind",
                  "changes what updates have of the model, and those of " + algorithm.kind + " have nothing of it",
                  "write kind = \"label-flip\", or choose another algorithm");
  for (const auto client : attack.listed)
    if (!std::ranges::binary_search(training, client))
      return refuse(fitted, "attack.list", "names client " + std::to_string(client) + ", which does not train",
                    "name clients that do");
  const auto count = static_cast<std::uint64_t>(attack.clients);
  if (!attack.listed.empty() || count <= training.size()) return {};
  return refuse(fitted, "attack.clients",
                "is " + std::to_string(count) + ", and " + std::to_string(training.size()) + " clients can train",
                "lower it");
}

double odds_of_more(std::uint64_t clients, std::uint64_t bad, std::uint64_t drawn, std::uint64_t most) {
  // By logarithms of binomial coefficients: log C(n, k) = sum of log((n - k + i) / i).
  const auto log_choose = [](std::uint64_t n, std::uint64_t k) {
    const auto fewer = std::min(k, n - k);
    double sum = 0.0;
    for (std::uint64_t i = 1; i <= fewer; ++i)
      sum += exact::log(static_cast<double>(n - fewer + i) / static_cast<double>(i));
    return sum;
  };
  double odds = 0.0;
  for (auto found = most + 1; found <= std::min(bad, drawn); ++found)
    if (drawn - found <= clients - bad)
      odds +=
          exact::exp(log_choose(bad, found) + log_choose(clients - bad, drawn - found) - log_choose(clients, drawn));
  return std::min(odds, 1.0);
}

void note_attackers(scenario& fitted, std::span<const std::uint32_t> training) {
  const auto& settings = fitted.settings;
  const auto& rule = settings.aggregation->rule;
  if (settings.attack->kind == federated::attack_kind::none || !rule.options.has("tolerate")) return;
  if (settings.participation->policy.traits.draws_cohort) return;  // of a size that differs
  std::uint64_t bad = 0;
  federated::draw_attackers(settings, training).visit([&](std::uint32_t) { ++bad; });
  const std::uint64_t drawn = settings.participation->per_round;
  const auto most = federated::robust::tolerated(rule.options.number("tolerate"), drawn);
  std::array<char, 32> odds{};
  std::snprintf(odds.data(), odds.size(), "%.2g", odds_of_more(training.size(), bad, drawn, most));
  fitted.notes.push_back(std::to_string(bad) + " of " + std::to_string(training.size()) +
                         " clients are bad: a uniform draw of " + std::to_string(drawn) + " has more than the " +
                         std::to_string(most) + " that " + rule.kind + " tolerates with probability " + odds.data());
}

}  // namespace furlong::scenarios
