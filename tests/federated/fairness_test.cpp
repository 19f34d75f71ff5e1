#include "federated/evaluation/fairness.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "base/random.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(fairness)

using namespace furlong;

namespace {

/// A ledger in which client 2 i + 1 was folded folded[i] times and asked once more; the even ones do not count.
federated::participation_ledger ledger_of(const std::vector<std::uint32_t>& folded) {
  federated::participation_ledger ledger(2 * folded.size() + 1);
  for (std::uint32_t client = 0; client < ledger.size(); ++client) {
    auto& record = ledger.touch(client);
    record.folded = client % 2 == 1 ? folded[client / 2] : 1000;
    record.selected = record.folded + 1;
  }
  return ledger;
}

std::vector<std::uint32_t> odd_numbers(std::size_t n) {
  std::vector<std::uint32_t> clients(n);
  for (std::uint32_t i = 0; i < n; ++i) clients[i] = 2 * i + 1;
  return clients;
}

federated::participation_summary summary_of(const std::vector<std::uint32_t>& folded) {
  return federated::summarize_participation(ledger_of(folded), odd_numbers(folded.size()));
}

}  // namespace

BOOST_AUTO_TEST_CASE(figures_of_a_few_clients_are_those_computed_by_hand) {
  // Differences of all ordered pairs of 0, 1, 3, 4: 2 (1 + 3 + 4 + 2 + 3 + 1) = 28; Gini = 28 / (2 n^2 mean) = 28 / 64.
  const auto some = summary_of({3, 0, 4, 1});
  BOOST_TEST(some.clients == 4U);
  BOOST_TEST(some.mean == 2.0);
  BOOST_TEST(some.gini == 0.4375);
  BOOST_TEST(some.never_selected == 0U);
  BOOST_TEST(some.never_folded == 1U);
  BOOST_TEST(some.p10 == 0U);
  BOOST_TEST(some.p50 == 1U);
  BOOST_TEST(some.p90 == 4U);
  BOOST_TEST(some.max == 4U);
  BOOST_TEST(summary_of({5, 5, 5}).gini == 0.0);
  BOOST_TEST(summary_of({0, 0, 0, 0, 9}).gini == 0.8);  // (n - 1) / n: one has all
  BOOST_TEST(summary_of({7}).gini == 0.0);
}

BOOST_AUTO_TEST_CASE(quantiles_are_the_least_counts_that_a_share_does_not_exceed) {
  std::vector<std::uint32_t> folded(20);
  std::iota(folded.rbegin(), folded.rend(), 1U);
  const auto twenty = summary_of(folded);
  BOOST_TEST(twenty.p10 == 2U);
  BOOST_TEST(twenty.p50 == 10U);
  BOOST_TEST(twenty.p90 == 18U);
  folded.push_back(21);
  const auto more = summary_of(folded);
  BOOST_TEST(more.p10 == 3U);
  BOOST_TEST(more.p50 == 11U);
  BOOST_TEST(more.p90 == 19U);
}

BOOST_AUTO_TEST_CASE(nobody_and_nothing_folded_are_zeros) {
  BOOST_TEST((summary_of({}) == federated::participation_summary{}));
  const federated::participation_ledger fresh(10);
  federated::participation_summary expected;
  expected.clients = expected.never_selected = expected.never_folded = 5;
  BOOST_TEST((federated::summarize_participation(fresh, odd_numbers(5)) == expected));
}

BOOST_AUTO_TEST_CASE(the_gini_coefficient_is_the_mean_difference_of_all_pairs) {
  for (std::uint64_t trial = 0; trial < 40; ++trial) {
    random_stream stream(trial, purpose::test);
    std::vector<std::uint32_t> folded(1 + stream.below(60));
    for (auto& count : folded) count = stream.below(1 + stream.below(1000));
    const double n = static_cast<double>(folded.size());
    double differences = 0.0;
    double total = 0.0;
    for (const double a : folded) {
      total += a;
      for (const double b : folded) differences += std::abs(a - b);
    }
    const auto got = summary_of(folded);
    BOOST_TEST(got.mean == total / n);
    BOOST_TEST(std::abs(got.gini - (total > 0 ? differences / (2 * n * total) : 0.0)) < 1e-14);
    BOOST_TEST(got.never_folded == static_cast<std::uint64_t>(std::ranges::count(folded, 0U)));
    BOOST_TEST(got.max == std::ranges::max(folded));
  }
}

// A million clients with large counts: products that 32 bits do not hold.
BOOST_AUTO_TEST_CASE(large_populations_are_summed_exactly) {
  constexpr std::uint32_t n = 1'000'000;
  federated::participation_ledger ledger(n);
  std::vector<std::uint32_t> clients(n);
  std::iota(clients.begin(), clients.end(), 0U);
  for (const auto client : clients) {
    ledger.touch(client).folded = client < n / 2 ? 0 : 100'000;
    ledger.touch(client).selected = client < n / 4 ? 0 : 1;
  }
  const auto got = federated::summarize_participation(ledger, clients);
  BOOST_TEST(got.gini == 0.5);
  BOOST_TEST(got.mean == 50'000.0);
  BOOST_TEST(got.never_selected == n / 4);
  BOOST_TEST(got.never_folded == n / 2);
  BOOST_TEST(got.p50 == 0U);
  BOOST_TEST(got.p90 == 100'000U);
}

// Clients 1, 3, ..., 19 have 19, 17, ..., 1 examples.
BOOST_AUTO_TEST_CASE(acceptance_is_that_of_clients_with_few_and_with_many_examples) {
  tests::table_population everybody;
  everybody.tables.resize(21);
  for (std::uint32_t client = 1; client < 20; client += 2) everybody.tables[client].train.labels.resize(20 - client);
  const auto ledger = ledger_of({0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
  const auto quintiles = federated::acceptance_by_activity(ledger, everybody, odd_numbers(10));
  BOOST_REQUIRE(quintiles.size() == 5U);
  BOOST_TEST((quintiles.front() ==
              federated::activity_quintile{.least = 1, .most = 3, .clients = 2, .selected = 19, .folded = 17}));
  BOOST_TEST((quintiles.back() ==
              federated::activity_quintile{.least = 17, .most = 19, .clients = 2, .selected = 3, .folded = 1}));
  BOOST_TEST(federated::acceptance_by_activity(ledger, everybody, odd_numbers(4)).empty());
  tests::table_population unknown;
  unknown.tables.resize(21);
  BOOST_TEST(federated::acceptance_by_activity(ledger, unknown, odd_numbers(10)).empty());
}

BOOST_AUTO_TEST_SUITE_END()
