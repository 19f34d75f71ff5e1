// Selection policies that go by the ledger: who was asked, how often, when, and with what loss.
#include <algorithm>
#include <limits>

#include "federated/settings/participation.hpp"
#include "tests/federated/selections.hpp"

BOOST_AUTO_TEST_SUITE(policies_by_the_ledger)

using namespace furlong;
using federated::participation_mode;
using namespace furlong::tests;

BOOST_AUTO_TEST_CASE(round_robin_goes_around) {
  const auto ten = with_examples(std::vector<std::uint32_t>(10, 1));
  asking run("round-robin", ten, 1);
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
          asking run("round-robin", every_third(n), 1, mode);
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
  asking run("least-recent", clients, 3);
  asking other("least-recent", clients, 4);
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
  asking run("least-recent", every_third(40), 11);
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
  asking run("power-of-choice", clients, 7, participation_mode::sync, 12);
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
  run.e.settings.participation->candidates = 0;
  BOOST_TEST(run.choose(4, 0).size() == 4U);
  BOOST_TEST(run.looked_at.size() == 8U);
}

BOOST_AUTO_TEST_CASE(power_of_choice_takes_first_those_whose_loss_is_not_known) {
  asking run("power-of-choice", with_examples({1, 1, 1, 1, 1, 1}), 7, participation_mode::sync, 6);
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
