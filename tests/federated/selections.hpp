// Selection for tests: populations that are numbers alone, and runs as far as a policy sees them.
#pragma once

#include <boost/test/unit_test.hpp>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::tests {

using cohort = std::vector<std::uint32_t>;

/// Clients that have numbers and numbers of examples, and nothing else.
struct numbered_population final : federated::population {
  cohort seen;
  std::map<std::uint32_t, std::uint32_t> examples;  ///< of those that have other than one

  models::data_facts facts() const override { return {1, seen.empty() ? 0 : seen.back() + 1}; }
  std::span<const std::uint32_t> training() const override { return seen; }
  std::span<const std::uint32_t> unseen_validation() const override { return {}; }
  std::span<const std::uint32_t> unseen_test() const override { return {}; }
  models::examples_view load(std::uint32_t, federated::part, models::examples&) const override { return {}; }
  std::uint32_t count(std::uint32_t client, federated::part which) const override {
    const auto found = examples.find(client);
    return which != federated::part::train ? 0 : found == examples.end() ? 1 : found->second;
  }
  std::string client_name(std::uint32_t) const override { return {}; }
  std::string feature_name(std::uint32_t) const override { return {}; }
};

/// n clients: 2, 5, 8, ...
[[nodiscard]] inline std::shared_ptr<numbered_population> every_third(std::uint32_t n) {
  auto made = std::make_shared<numbered_population>();
  for (std::uint32_t i = 0; i < n; ++i) made->seen.push_back(2 + 3 * i);
  return made;
}

/// Clients 0, 1, 2, ... with these numbers of examples.
[[nodiscard]] inline std::shared_ptr<numbered_population> with_examples(const std::vector<std::uint32_t>& examples) {
  auto made = std::make_shared<numbered_population>();
  for (std::uint32_t i = 0; i < examples.size(); ++i) {
    made->seen.push_back(i);
    made->examples[i] = examples[i];
  }
  return made;
}

/// A run as far as selection sees it: asks, and writes down who was asked.
class asking {
 public:
  using test = std::function<bool(std::uint32_t)>;

  asking(std::string_view kind, std::shared_ptr<const federated::population> clients, std::uint64_t seed,
         federated::participation_mode mode = federated::participation_mode::sync, std::uint32_t candidates = 0)
      : ledger(clients->facts().clients) {
    e.settings.seed = seed;
    e.settings.participation->policy = federated::chosen_policy(kind);
    e.settings.participation->mode = mode;
    e.settings.participation->candidates = candidates;
    e.settings.participation->rate = 0.5;
    e.participants = std::move(clients);
    resume();
  }
  asking(const asking&) = delete;

  void resume() { policy = federated::make_policy(e, ledger); }

  [[nodiscard]] cohort choose(std::uint32_t count, std::uint64_t round, const test& eligible = {}) {
    looked_at.clear();
    federated::selection of{.count = count, .round = round, .ordinal = ordinal, .eligible = {}};
    of.eligible = [&](std::uint32_t client) {
      BOOST_REQUIRE_MESSAGE(looked_at.insert(client).second, "client " << client << " was looked at twice");
      return !eligible || eligible(client);
    };
    auto chosen = policy->choose(of, ledger);
    BOOST_TEST(of.probed == looked_at.size());
    return chosen;
  }
  cohort ask(std::uint32_t count, std::uint64_t round, const test& eligible = {}) {
    const auto chosen = choose(count, round, eligible);
    for (const auto client : chosen) {
      auto& record = ledger.touch(client);
      ++record.selected;
      record.last_selection = ++ordinal;
      record.asked_version = static_cast<std::uint32_t>(round) + 1;
    }
    policy->asked(chosen);
    return chosen;
  }

  federated::experiment e;
  federated::participation_ledger ledger;
  std::unique_ptr<federated::selection_policy> policy;
  std::uint64_t ordinal = 0;
  std::set<std::uint32_t> looked_at;  ///< by the last selection
};

/// Whether a client is there, drawn for (seed, round, client).
[[nodiscard]] inline asking::test there(double share, std::uint64_t seed, std::uint64_t round) {
  return [=](std::uint32_t client) {
    return random_stream(seed, purpose::test, static_cast<std::uint32_t>(round), client).uniform() < share;
  };
}

}  // namespace furlong::tests
