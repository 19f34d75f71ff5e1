// What every selection policy promises.
#include <algorithm>

#include "federated/settings/participation.hpp"
#include "tests/federated/selections.hpp"

BOOST_AUTO_TEST_SUITE(policies)

using namespace furlong;
using federated::participation_mode;
using namespace furlong::tests;

namespace {

std::vector<std::string> all_policies() {
  std::vector<std::string> kinds;
  for (const auto& entry : federated::registered_policies()) kinds.push_back(entry.kind);
  return kinds;
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_choice_is_ascending_distinct_and_of_eligible_clients_and_finds_all_there_are) {
  for (const auto& kind : all_policies())
    for (const auto mode : {participation_mode::sync, participation_mode::async})
      for (std::uint64_t trial = 0; trial < 60; ++trial) {
        random_stream stream(trial, purpose::test, 1);
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
          if (federated::find_policy(kind)->traits.draws_cohort)
            BOOST_TEST(chosen.size() <= std::min<std::size_t>(count, all));
          else
            BOOST_TEST(chosen.size() == std::min<std::size_t>(count, all));
        }
      }
}

BOOST_AUTO_TEST_CASE(nobody_and_an_empty_population_can_be_asked_for) {
  for (const auto& kind : all_policies()) {
    BOOST_TEST(asking(kind, every_third(4), 1).ask(0, 0).empty());
    BOOST_TEST(asking(kind, every_third(0), 1).ask(3, 0).empty());
    BOOST_TEST(asking(kind, every_third(4), 1).ask(3, 0, [](std::uint32_t) { return false; }).empty());
  }
}

BOOST_AUTO_TEST_CASE(drawn_choices_are_keyed_by_seed_and_round_and_asynchronous_ones_by_ordinal_too) {
  const auto clients = every_third(1000);
  for (const std::string_view kind : {"uniform", "weight", "power-of-choice"}) {
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
  for (const auto& kind : all_policies())
    for (const auto mode : {participation_mode::sync, participation_mode::async})
      for (std::uint64_t trial = 0; trial < 150; ++trial) {
        random_stream stream(trial, purpose::test, 2);
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

BOOST_AUTO_TEST_SUITE_END()
