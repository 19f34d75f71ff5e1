#include "scenarios/schema/fit_attack.hpp"

#include <algorithm>
#include <array>
#include <cstdio>

#include "base/exact_math.hpp"
#include "federated/aggregation/robust/robust_rule.hpp"
#include "federated/attack/attack.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/attack.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/world/attackers.hpp"
#include "scenarios/schema/scenario.hpp"
#include "scenarios/schema/scored_groups.hpp"
#include "scenarios/schema/toml_document.hpp"

namespace furlong::scenarios {

result<void> check_attackers(const scenario& fitted, std::span<const std::uint32_t> training) {
  const auto& attack = *fitted.settings.attack;
  if (attack.entry == nullptr) return {};
  const auto& algorithm = *fitted.settings.algorithm;
  if (attack.entry->poison == nullptr && !algorithm.does->sends_model())
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

namespace {

/// The features of these names: ids of items, or words and others by population::feature_name().
std::vector<std::optional<std::uint32_t>> features_named(const dataset& data, const std::vector<std::string>& names) {
  if (!data.item_ids.empty() || !data.item_names.empty()) return items_named(data, names);
  std::vector<std::optional<std::uint32_t>> found(names.size());
  const auto features = data.clients->facts().features;
  for (std::uint32_t feature = 0; feature < features; ++feature) {
    const auto place = std::ranges::find(names, data.clients->feature_name(feature));
    if (place != names.end()) found[static_cast<std::size_t>(place - names.begin())] = feature;
  }
  return found;
}

}  // namespace

result<void> settle_attack(scenario& fitted, const dataset& data) {
  auto& attack = *fitted.settings.attack;
  attack.features.clear();
  if (attack.entry == nullptr || data.model != nullptr) return {};
  for (const auto& option : attack.entry->options) {
    if (option.type != option_type::text_list) continue;
    const auto& names = attack.options.list(option.name);
    const auto found = features_named(data, names);
    auto& features = attack.features[option.name];
    for (std::size_t i = 0; i < names.size(); ++i)
      if (found[i])
        features.push_back(*found[i]);
      else
        return refuse(fitted, "attack." + option.name,
                      "has " + toml_string(names[i]) + ", which is no item, word or feature of the data",
                      "name them as the data's files do");
  }
  if (attack.entry->check != nullptr)
    for (const auto& problem : attack.entry->check(attack, data.clients->facts()))
      return refuse(fitted, "attack." + problem.option, problem.why, problem.fix);
  return {};
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
  if (settings.attack->entry == nullptr || !rule.options.has("tolerate")) return;
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
