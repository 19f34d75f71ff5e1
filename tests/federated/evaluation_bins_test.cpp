// Metrics of seen clients by how often they took part.
#include <algorithm>
#include <array>
#include <cmath>

#include "federated/settings/evaluation.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(evaluation_bins)

using namespace furlong;
using tests::crowd;
using tests::experiment_of;
using tests::report_of;

namespace {

/// Scores with a ledger in which client c was folded folded[c] times.
federated::evaluation_report report_with(const federated::experiment& e, const std::vector<std::uint32_t>& folded) {
  federated::participation_ledger ledger(folded.size());
  for (std::uint32_t client = 0; client < folded.size(); ++client) ledger.touch(client).folded = folded[client];
  const auto model = federated::initial_model(e);
  federated::evaluation scores(e, {1, model}, nullptr, &ledger);
  ledger = federated::participation_ledger();  // read when the evaluation began, not when it ends
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i) BOOST_REQUIRE(scores.score(i, use));
  return scores.report();
}

using range = std::array<std::uint64_t, 3>;  // least, most, clients

std::vector<range> ranges_of(const federated::evaluation_report& report) {
  std::vector<range> all;
  for (const auto& bin : report.by_participation) all.push_back({bin.least, bin.most, bin.clients});
  return all;
}

}  // namespace

// 12 clients. Four never trained; eight others, fewer than the nine parts left, so each count has its own bin.
BOOST_AUTO_TEST_CASE(bins_of_a_few_clients_are_their_counts) {
  const auto e = experiment_of("fedavg", {}, tests::make_ratings(5, {.clients = 19}));
  std::vector<std::uint32_t> folded = {0, 7, 0, 2, 2, 0, 9, 1, 0, 2, 30, 1};
  folded.resize(19, 99);  // unseen clients do not matter
  const std::vector<range> expected = {{0, 0, 4}, {1, 1, 2}, {2, 2, 3}, {7, 7, 1}, {9, 9, 1}, {30, 30, 1}};
  BOOST_TEST((ranges_of(report_with(e, folded)) == expected));
  BOOST_TEST((ranges_of(report_with(e, std::vector<std::uint32_t>(19, 0))) == std::vector<range>{{0, 0, 12}}));
  BOOST_TEST((ranges_of(report_with(e, std::vector<std::uint32_t>(19, 3))) == std::vector<range>{{3, 3, 12}}));
}

// 260 clients with different counts make ten bins of 26; with a tie at a border the bin before takes all of it.
BOOST_AUTO_TEST_CASE(bins_are_deciles_and_do_not_split_equal_counts) {
  const auto e = experiment_of("fedavg", {}, tests::make_ratings(5, crowd));
  std::vector<std::uint32_t> folded(crowd.clients);
  for (std::uint32_t client = 0; client < crowd.clients; ++client) folded[client] = 1 + (client * 37) % 260;
  auto got = ranges_of(report_with(e, folded));
  BOOST_REQUIRE(got.size() == 10U);
  for (std::uint32_t i = 0; i < 10; ++i) BOOST_TEST((got[i] == range{26 * i + 1, 26 * i + 26, 26}));
  for (auto& count : folded)
    if (count >= 25 && count <= 30) count = 26;
  got = ranges_of(report_with(e, folded));
  BOOST_REQUIRE(got.size() == 10U);
  BOOST_TEST((got[0] == range{1, 26, 30}));
  BOOST_TEST((got[1] == range{31, 52, 22}));
}

// Each bin's figures are those of an evaluation in which its clients are all the seen ones.
BOOST_AUTO_TEST_CASE(a_bin_has_the_figures_of_its_clients) {
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    const auto clients = trial % 2 == 0 ? tests::make_ratings(trial, crowd) : tests::make_classes(trial, crowd);
    clients->tables[3].test = {};  // nothing to score
    auto e = experiment_of("fedavg", {}, clients);
    e.settings.evaluation->clients = trial < 3 ? 0 : 90;
    random_stream stream(trial, purpose::test, 3);
    std::vector<std::uint32_t> folded(crowd.clients);
    for (auto& count : folded) count = stream.below(1 + stream.below(12));
    const auto report = report_with(e, folded);
    BOOST_REQUIRE(report.by_participation.size() > 2U);
    BOOST_TEST(report.by_participation.size() <= 10U);
    BOOST_TEST(report.by_participation.front().most == 0U);
    std::uint64_t scored = 0;
    for (std::size_t i = 0; i < report.by_participation.size(); ++i) {
      const auto& bin = report.by_participation[i];
      BOOST_TEST((i == 0 || bin.least > report.by_participation[i - 1].most));
      BOOST_TEST(bin.clients == bin.metrics.clients);
      scored += bin.clients;
      if (e.settings.evaluation->clients > 0) continue;
      auto some = std::make_shared<tests::table_population>(*clients);
      std::erase_if(some->seen, [&](auto c) { return folded[c] < bin.least || folded[c] > bin.most; });
      auto alone = e;
      alone.clients = some;
      const auto expected = report_of(alone, federated::initial_model(e)).seen.value();
      BOOST_TEST(bin.clients == expected.clients);
      BOOST_TEST(bin.metrics.examples == expected.examples);
      BOOST_TEST((bin.metrics.accuracy == expected.accuracy));
      BOOST_TEST(std::abs(bin.metrics.loss - expected.loss) < 1e-12 * expected.loss);
      BOOST_TEST(bin.metrics.rmse.has_value() == expected.rmse.has_value());
      if (expected.rmse) BOOST_TEST(std::abs(*bin.metrics.rmse - *expected.rmse) < 1e-12 * *expected.rmse);
      BOOST_TEST((bin.metrics.auc == expected.auc));
    }
    BOOST_TEST(scored == report.seen->clients);
  }
}

BOOST_AUTO_TEST_SUITE_END()
