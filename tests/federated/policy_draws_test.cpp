// Selection policies that draw: the law by which they do.
#include <algorithm>
#include <cmath>
#include <numeric>

#include "federated/participation/uniform.hpp"
#include "federated/settings/participation.hpp"
#include "tests/federated/selections.hpp"

BOOST_AUTO_TEST_SUITE(policies_that_draw)

using namespace furlong;
using federated::participation_mode;
using namespace furlong::tests;

namespace {

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

BOOST_AUTO_TEST_CASE(uniform_asks_the_cohort_of_the_round_when_everybody_is_there) {
  const auto clients = every_third(50);
  asking run("uniform", clients, 9);
  for (std::uint32_t count = 0; count <= 50; ++count)
    for (std::uint64_t round = 0; round < 5; ++round)
      BOOST_TEST(run.ask(count, round) == federated::uniform_cohort(clients->seen, count, 9, round));
}

// To ask whether a client can be reached costs more than all else: of ten thousand ten are, or twenty of which ten are.
BOOST_AUTO_TEST_CASE(uniform_looks_at_no_more_clients_than_it_needs) {
  asking run("uniform", every_third(10'000), 9);
  for (std::uint64_t round = 0; round < 20; ++round) {
    BOOST_TEST(run.choose(10, round).size() == 10U);
    BOOST_TEST(run.looked_at.size() == 10U);
    std::uint32_t asked = 0;
    BOOST_TEST(run.choose(10, round, [&](std::uint32_t) { return ++asked % 2 == 0; }).size() == 10U);
    BOOST_TEST(run.looked_at.size() == 20U);
  }
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
  asking rounds("uniform", clients, 4);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[rounds.choose(3, round, eligible)];
  BOOST_TEST(distance(seen, expected) < 27.9);  // 9 degrees of freedom, p = 0.001

  asking singles("uniform", clients, 4, participation_mode::async);
  std::map<cohort, double> one;
  for (int i = 0; i < draws; ++i) ++one[singles.ask(1, 7, eligible)];
  const double each = draws / 5.0;
  BOOST_TEST(distance(one, {{{1}, each}, {{2}, each}, {{4}, each}, {{5}, each}, {{7}, each}}) < 18.5);  // 4, 0.001
}

BOOST_AUTO_TEST_CASE(by_weight_pairs_are_as_likely_as_successive_sampling_makes_them) {
  constexpr int draws = 20'000;
  asking run("weight", with_examples({1, 2, 0, 3, 4}), 5);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[run.choose(2, round)];
  BOOST_TEST(distance(seen, pairs_by_weight({1, 2, 0, 3, 4}, draws)) < 20.5);  // 5 degrees of freedom, p = 0.001
}

// A client with nearly all examples cannot be asked: it is drawn again and again without success, then the rest is
// listed. 40 clients, so that some failed draws come before that.
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
  asking run("weight", with_examples(examples), 6);
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round)
    ++seen[run.choose(2, round, [](std::uint32_t client) { return client != 0; })];
  BOOST_TEST(distance(seen, pairs_by_weight(weights, draws)) < 20.5);  // 5 degrees of freedom, p = 0.001
}

BOOST_AUTO_TEST_CASE(clients_without_examples_are_not_asked_where_examples_count) {
  for (const std::string_view kind : {"weight", "power-of-choice"}) {
    BOOST_TEST(asking(kind, with_examples({0, 3, 0, 1, 0}), 1).ask(5, 0) == cohort({1, 3}));
    BOOST_TEST(asking(kind, with_examples({0, 0, 0}), 1).ask(5, 0).empty());
  }
}

// More examples than 32 bits count.
BOOST_AUTO_TEST_CASE(by_weight_draws_from_any_number_of_examples) {
  constexpr std::uint32_t many = 3'000'000'000;
  asking run("weight", with_examples({many, many, many, many / 3}), 8);
  constexpr int draws = 20'000;
  std::map<cohort, double> seen;
  for (std::uint64_t round = 0; round < draws; ++round) ++seen[run.choose(1, round)];
  const double each = draws * 0.3;
  BOOST_TEST(distance(seen, {{{0}, each}, {{1}, each}, {{2}, each}, {{3}, each / 3}}) < 16.3);  // 3, p = 0.001
}

BOOST_AUTO_TEST_SUITE_END()
