// What every selection policy promises, and the law by which each of them chooses.
#include "federated/participation/policy.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "federated/participation/uniform.hpp"
#include "models/random.hpp"

using namespace furlong;
using federated::participation_mode;
using federated::policy_kind;
using cohort = std::vector<std::uint32_t>;

namespace {

constexpr policy_kind all_policies[] = {policy_kind::uniform, policy_kind::weight, policy_kind::round_robin,
                                        policy_kind::least_recent, policy_kind::power_of_choice};

/// Clients that have numbers and numbers of examples, and nothing else.
struct counted_population final : federated::population {
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
std::shared_ptr<counted_population> every_third(std::uint32_t n) {
  auto made = std::make_shared<counted_population>();
  for (std::uint32_t i = 0; i < n; ++i) made->seen.push_back(2 + 3 * i);
  return made;
}

/// Clients 0, 1, 2, ... with these numbers of examples.
std::shared_ptr<counted_population> with_examples(const std::vector<std::uint32_t>& examples) {
  auto made = std::make_shared<counted_population>();
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

  asking(policy_kind kind, std::shared_ptr<const federated::population> clients, std::uint64_t seed,
         participation_mode mode = participation_mode::sync, std::uint32_t candidates = 0)
      : ledger(clients->facts().clients) {
    e.settings.seed = seed;
    e.settings.participation.policy = kind;
    e.settings.participation.mode = mode;
    e.settings.participation.candidates = candidates;
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
asking::test there(double share, std::uint64_t seed, std::uint64_t round) {
  return [=](std::uint32_t client) {
    return models::random_stream(seed, models::purpose::test, static_cast<std::uint32_t>(round), client).uniform() <
           share;
  };
}

/// How far counts of cohorts are from what was expected of each: chi-square. All cohorts seen must be expected.
double distance(const std::map<cohort, double>& seen, const std::map<cohort, double>& expected) {
  for (const auto& [who, times] : seen) BOOST_REQUIRE(expected.contains(who));
  double sum = 0.0;
  for (const auto& [who, times] : expected) {
    const auto found = seen.find(who);
    sum += std::pow((found == seen.end() ? 0.0 : found->second) - times, 2) / times;
  }
  return sum;
}

/// Adds to `to` the probability of each ascending pair under successive sampling with these weights.
std::map<cohort, double> pairs_by_weight(const std::vector<double>& weights, double draws) {
  const double total = std::accumulate(weights.begin(), weights.end(), 0.0);
  std::map<cohort, double> expected;
  for (std::uint32_t a = 0; a < weights.size(); ++a)
    for (std::uint32_t b = 0; b < weights.size(); ++b)
      if (a != b && weights[a] > 0 && weights[b] > 0)
        expected[{std::min(a, b), std::max(a, b)}] += draws * weights[a] / total * weights[b] / (total - weights[a]);
  return expected;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(policies)

BOOST_AUTO_TEST_CASE(a_choice_is_ascending_distinct_and_of_eligible_clients_and_finds_all_there_are) {
  for (const auto kind : all_policies)
    for (const auto mode : {participation_mode::sync, participation_mode::async})
      for (std::uint64_t trial = 0; trial < 60; ++trial) {
        models::random_stream stream(trial, models::purpose::test, 1);
        const auto clients = every_third(1 + stream.below(80));
        for (const auto client : clients->seen) clients->examples[client] = 1 + stream.below(1U << stream.below(20));
        asking run(kind, clients, trial, mode);
        const double share = stream.uniform();
        for (std::uint64_t round = 0; round < 12; ++round) {
          const auto eligible = there(share, trial, round);
          const auto count = stream.below(static_cast<std::uint32_t>(clients->seen.size()) + 5);
          const auto chosen = run.ask(count, round, eligible);
          BOOST_TEST((std::ranges::adjacent_find(chosen, std::greater_equal<>()) == chosen.end()));
          BOOST_TEST(std::ranges::includes(clients->seen, chosen));
          BOOST_TEST(std::ranges::all_of(chosen, eligible));
          const auto all = static_cast<std::size_t>(std::ranges::count_if(clients->seen, eligible));
          BOOST_TEST(chosen.size() == std::min<std::size_t>(count, all));
        }
      }
}

BOOST_AUTO_TEST_CASE(nobody_and_an_empty_population_can_be_asked_for) {
  for (const auto kind : all_policies) {
    BOOST_TEST(asking(kind, every_third(4), 1).ask(0, 0).empty());
    BOOST_TEST(asking(kind, every_third(0), 1).ask(3, 0).empty());
    BOOST_TEST(asking(kind, every_third(4), 1).ask(3, 0, [](std::uint32_t) { return false; }).empty());
  }
}

BOOST_AUTO_TEST_CASE(drawn_choices_are_keyed_by_seed_and_round_and_asynchronous_ones_by_ordinal_too) {
  const auto clients = every_third(1000);
  for (const auto kind : {policy_kind::uniform, policy_kind::weight, policy_kind::power_of_choice}) {
    asking run(kind, clients, 1);
    const auto one = run.choose(20, 3);
    BOOST_TEST(run.choose(20, 3) == one);
    BOOST_TEST((run.choose(20, 4) != one));
    BOOST_TEST(asking(kind, clients, 1).choose(20, 3) == one);
    BOOST_TEST((asking(kind, clients, 2).choose(20, 3) != one));
    run.ordinal = 77;
    BOOST_TEST(run.choose(20, 3) == one);
    asking other(kind, clients, 1, participation_mode::async);
    other.ordinal = 76;
    const auto before = other.choose(20, 3);
    BOOST_TEST(other.choose(20, 3) == before);
    other.ordinal = 77;
    BOOST_TEST((other.choose(20, 3) != before));
  }
}

// With clients that come and go, and small populations in which one selection goes more than half way around.
BOOST_AUTO_TEST_CASE(a_run_that_is_resumed_at_any_moment_asks_the_same_clients) {
  for (const auto kind : all_policies)
    for (const auto mode : {participation_mode::sync, participation_mode::async})
      for (std::uint64_t trial = 0; trial < 150; ++trial) {
        models::random_stream stream(trial, models::purpose::test, 2);
        const auto clients = every_third(1 + stream.below(30));
        asking run(kind, clients, trial, mode);
        asking killed(kind, clients, trial, mode);
        const double share = stream.uniform() < 0.3F ? 1.0 : 0.3 + 0.7 * static_cast<double>(stream.uniform());
        const bool one_by_one = stream.below(2) == 0;
        std::uint64_t round = 0;
        for (std::uint64_t turn = 0; turn < 60; ++turn) {
          const auto count = one_by_one ? 1 : 1 + stream.below(12);
          const auto uninterrupted = run.ask(count, round, there(share, trial, turn));
          BOOST_REQUIRE(killed.ask(count, round, there(share, trial, turn)) == uninterrupted);
          if (stream.below(2) == 0) killed.resume();
          if (stream.below(3) > 0) ++round;
        }
      }
}

BOOST_AUTO_TEST_CASE(uniform_asks_the_cohort_of_the_round_when_everybody_is_there) {
  const auto clients = every_third(50);
  asking run(policy_kind::uniform, clients, 9);
  for (std::uint32_t count = 0; count <= 50; ++count)
    for (std::uint64_t round = 0; round < 5; ++round)
      BOOST_TEST(run.ask(count, round) == federated::uniform_cohort(clients->seen, count, 9, round));
}

// Three of the five that are there, out of eight, so that draws go on after the first three and through the rest: each
// of the ten sets is equally likely. One by one, in asynchronous runs: each of the five.
BOOST_AUTO_TEST_CASE(uniform_choices_are_uniform_over_those_eligible) {
  const auto eligible = [](std::uint32_t client) { return client % 3 != 0; };
  const auto clients = with_examples({1, 1, 1, 1, 1, 1, 1, 1});
  constexpr int draws = 20'000;
  std::map<cohort, double> expected;
  for (std::uint32_t a = 0; a < 8; ++a)
    for (std::uint32_t b = a + 1; b < 8; ++b)
      for (std::uint32_t c = b + 1; c < 8; ++c)
        if (eligible(a) && eligible(b) && eligible(c)) expected[{a, b, c}] = draws / 10.0;
  asking rounds(policy_kind::uniform, clients, 4);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[rounds.choose(3, round, eligible)];
  BOOST_TEST(distance(seen, expected) < 27.9);  // 9 degrees of freedom, p = 0.001

  asking singles(policy_kind::uniform, clients, 4, participation_mode::async);
  std::map<cohort, double> one;
  for (int i = 0; i < draws; ++i) ++one[singles.ask(1, 7, eligible)];
  const double each = draws / 5.0;
  BOOST_TEST(distance(one, {{{1}, each}, {{2}, each}, {{4}, each}, {{5}, each}, {{7}, each}}) < 18.5);  // 4, 0.001
}

BOOST_AUTO_TEST_CASE(by_weight_pairs_are_as_likely_as_successive_sampling_makes_them) {
  constexpr int draws = 20'000;
  asking run(policy_kind::weight, with_examples({1, 2, 0, 3, 4}), 5);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[run.choose(2, round)];
  BOOST_TEST(distance(seen, pairs_by_weight({1, 2, 0, 3, 4}, draws)) < 20.5);  // 5 degrees of freedom, p = 0.001
}

// A client with nearly all examples cannot be asked: it is drawn over and over in vain, then the rest is listed. 40
// clients, so that some draws in vain come before that.
BOOST_AUTO_TEST_CASE(by_weight_goes_on_in_proportion_without_those_who_cannot_be_asked) {
  std::vector<std::uint32_t> examples(40, 0);
  examples[0] = 100'000;
  examples[3] = 1;
  examples[20] = 2;
  examples[31] = 3;
  examples[39] = 6;
  std::vector<double> weights(examples.begin(), examples.end());
  weights[0] = 0;
  constexpr int draws = 20'000;
  asking run(policy_kind::weight, with_examples(examples), 6);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round)
    ++seen[run.choose(2, round, [](std::uint32_t client) { return client != 0; })];
  BOOST_TEST(distance(seen, pairs_by_weight(weights, draws)) < 20.5);  // 5 degrees of freedom, p = 0.001
}

BOOST_AUTO_TEST_CASE(clients_without_examples_are_not_asked_where_examples_count) {
  for (const auto kind : {policy_kind::weight, policy_kind::power_of_choice}) {
    BOOST_TEST(asking(kind, with_examples({0, 3, 0, 1, 0}), 1).ask(5, 0) == cohort({1, 3}));
    BOOST_TEST(asking(kind, with_examples({0, 0, 0}), 1).ask(5, 0).empty());
  }
}

// More examples than 32 bits count.
BOOST_AUTO_TEST_CASE(by_weight_draws_from_any_number_of_examples) {
  constexpr std::uint32_t many = 3'000'000'000;
  asking run(policy_kind::weight, with_examples({many, many, many, many / 3}), 8);
  constexpr int draws = 20'000;
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[run.choose(1, round)];
  const double each = draws * 0.3;
  BOOST_TEST(distance(seen, {{{0}, each}, {{1}, each}, {{2}, each}, {{3}, each / 3}}) < 16.3);  // 3, p = 0.001
}

BOOST_AUTO_TEST_CASE(round_robin_goes_around) {
  const auto ten = with_examples(std::vector<std::uint32_t>(10, 1));
  asking run(policy_kind::round_robin, ten, 1);
  BOOST_TEST(run.ask(4, 0) == cohort({0, 1, 2, 3}));
  BOOST_TEST(run.ask(4, 1) == cohort({4, 5, 6, 7}));
  BOOST_TEST(run.ask(4, 2) == cohort({0, 1, 8, 9}));
  BOOST_TEST(run.ask(4, 3) == cohort({2, 3, 4, 5}));
  BOOST_TEST(run.ask(3, 4, [](std::uint32_t client) { return client != 6 && client != 9; }) == cohort({0, 7, 8}));
  run.resume();
  BOOST_TEST(run.ask(2, 5) == cohort({1, 2}));
}

// Whatever the sizes, also when a selection is most of a lap, and resumed all the time: nobody is ever two turns ahead.
BOOST_AUTO_TEST_CASE(round_robin_asks_everybody_equally_often) {
  for (const auto mode : {participation_mode::sync, participation_mode::async})
    for (std::uint32_t n = 1; n < 14; ++n)
      for (std::uint32_t count = 1; count <= (mode == participation_mode::sync ? n : 1); ++count)
        for (const bool resumed : {false, true}) {
          asking run(policy_kind::round_robin, every_third(n), 1, mode);
          for (std::uint64_t round = 0; round < 40; ++round) {
            run.ask(count, round);
            if (resumed) run.resume();
            std::vector<std::uint32_t> times;
            for (const auto client : run.e.participants->training()) times.push_back(run.ledger[client].selected);
            const auto [least, most] = std::ranges::minmax(times);
            BOOST_REQUIRE_MESSAGE(most - least <= 1, n << " clients, " << count << " a time, round " << round);
          }
        }
}

BOOST_AUTO_TEST_CASE(least_recent_asks_the_never_asked_in_a_drawn_order_then_those_asked_longest_ago) {
  const auto clients = every_third(30);
  asking run(policy_kind::least_recent, clients, 3);
  asking other(policy_kind::least_recent, clients, 4);
  std::set<std::uint32_t> asked;
  std::vector<cohort> cohorts;
  bool differs = false;
  for (std::uint64_t round = 0; round < 6; ++round) {
    cohorts.push_back(run.ask(5, round));
    differs = differs || other.ask(5, round) != cohorts.back();
    asked.insert(cohorts.back().begin(), cohorts.back().end());
  }
  BOOST_TEST(asked.size() == 30U);
  BOOST_TEST(differs);
  BOOST_TEST(cohorts[0] != cohort(clients->seen.begin(), clients->seen.begin() + 5));
  for (std::uint64_t round = 6; round < 18; ++round) BOOST_TEST(run.ask(5, round) == cohorts[round % 6]);
  // Who was passed over stays first.
  const auto skipped = cohorts[0][2];
  BOOST_TEST(!std::ranges::count(run.ask(5, 18, [&](std::uint32_t client) { return client != skipped; }), skipped));
  const auto next = run.ask(1, 19);
  BOOST_TEST(next == cohort({skipped}));
}

// Against a search through the whole ledger, with clients that come and go.
BOOST_AUTO_TEST_CASE(least_recent_is_what_a_sort_of_the_ledger_gives) {
  asking run(policy_kind::least_recent, every_third(40), 11);
  run.ask(40, 0);
  for (std::uint64_t round = 1; round < 100; ++round) {
    const auto eligible = there(0.4, 11, round);
    cohort expected;
    std::ranges::copy_if(run.e.participants->training(), std::back_inserter(expected), eligible);
    std::ranges::sort(expected, {}, [&](std::uint32_t client) { return run.ledger[client].last_selection; });
    expected.resize(std::min<std::size_t>(expected.size(), 7));
    std::ranges::sort(expected);
    BOOST_TEST(run.ask(7, round, eligible) == expected);
  }
}

BOOST_AUTO_TEST_CASE(power_of_choice_takes_the_highest_losses_of_the_candidates) {
  const auto clients = with_examples(std::vector<std::uint32_t>(30, 2));
  asking run(policy_kind::power_of_choice, clients, 7, participation_mode::sync, 12);
  for (const auto client : clients->seen) {
    auto& record = run.ledger.touch(client);
    record = {.selected = 1, .folded = 1, .last_selection = client + 1ULL};
    record.loss = static_cast<float>((client * 7) % 30);
  }
  std::set<cohort> different;
  for (std::uint64_t round = 0; round < 50; ++round) {
    const auto chosen = run.choose(4, round);
    BOOST_REQUIRE(run.looked_at.size() == 12U);
    cohort expected(run.looked_at.begin(), run.looked_at.end());
    std::ranges::sort(expected, std::greater<>(), [&](std::uint32_t client) { return run.ledger[client].loss; });
    expected.resize(4);
    std::ranges::sort(expected);
    BOOST_TEST(chosen == expected);
    different.insert(chosen);
  }
  BOOST_TEST(different.size() > 25U);
  // As many candidates as are asked for, at least; twice as many by default.
  BOOST_TEST(run.choose(20, 0).size() == 20U);
  BOOST_TEST(run.looked_at.size() == 20U);
  run.e.settings.participation.candidates = 0;
  BOOST_TEST(run.choose(4, 0).size() == 4U);
  BOOST_TEST(run.looked_at.size() == 8U);
}

BOOST_AUTO_TEST_CASE(power_of_choice_takes_first_those_whose_loss_is_not_known) {
  asking run(policy_kind::power_of_choice, with_examples({1, 1, 1, 1, 1, 1}), 7, participation_mode::sync, 6);
  const auto reported = [&](std::uint32_t client, std::uint64_t ordinal, float loss) {
    run.ledger.touch(client) = {.selected = 1, .folded = 1, .last_selection = ordinal};
    run.ledger.touch(client).loss = loss;
  };
  reported(0, 1, 5.0F);
  reported(1, 3, 9.0F);
  reported(2, 2, std::numeric_limits<float>::quiet_NaN());
  run.ledger.touch(4) = {.selected = 1, .last_selection = 4};  // dropped out
  reported(5, 5, 0.0F);
  BOOST_TEST(run.choose(1, 0) == cohort({3}));  // never asked
  BOOST_TEST(run.choose(2, 0) == cohort({2, 3}));
  BOOST_TEST(run.choose(3, 0) == cohort({2, 3, 4}));
  BOOST_TEST(run.choose(4, 0) == cohort({1, 2, 3, 4}));
  BOOST_TEST(run.choose(5, 0) == cohort({0, 1, 2, 3, 4}));
}

BOOST_AUTO_TEST_SUITE_END()
