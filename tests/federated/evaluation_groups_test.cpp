// Metrics by groups of clients (evaluation.client_groups).
#include "federated/experiment/client_groups.hpp"
#include "federated/settings/evaluation.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(evaluation_groups)

using namespace furlong;
using tests::crowd;
using tests::experiment_of;
using tests::report_of;

namespace {

std::shared_ptr<const federated::client_groups> draw_groups(std::uint64_t seed, std::uint32_t count) {
  auto made = std::make_shared<federated::client_groups>();
  random_stream stream(seed, purpose::test, 8);
  for (std::uint32_t group = 0; group < count; ++group) made->names.push_back("group " + std::to_string(group));
  for (std::uint32_t client = 0; client < crowd.clients; ++client) made->of_client.push_back(stream.below(count));
  return made;
}

void check_same(const std::optional<federated::group_metrics>& one,
                const std::optional<federated::group_metrics>& other) {
  BOOST_REQUIRE(one.has_value() == other.has_value());
  if (!one) return;
  BOOST_TEST(one->clients == other->clients);
  BOOST_TEST(one->examples == other->examples);
  BOOST_TEST(one->loss == other->loss);
  BOOST_TEST((one->accuracy == other->accuracy && one->rmse == other->rmse && one->auc == other->auc));
}

}  // namespace

// A group's figures are those of an evaluation in which its clients are the only ones.
BOOST_AUTO_TEST_CASE(a_group_has_the_figures_of_its_clients) {
  for (std::uint64_t trial = 0; trial < 6; ++trial) {
    const auto clients = trial % 2 == 0 ? tests::make_ratings(trial, crowd) : tests::make_classes(trial, crowd);
    auto e = experiment_of("fedavg", {}, clients);
    e.settings.evaluation->clients = trial < 3 ? 0 : 90;
    const auto groups = draw_groups(trial, 3);
    e.settings.evaluation->groups_of_clients = groups;
    const auto model = federated::initial_model(e);
    const auto report = report_of(e, model);
    BOOST_REQUIRE(report.by_client_group.size() == 3U);
    for (std::uint32_t group = 0; group < 3; ++group) {
      std::vector<std::uint32_t> others;
      for (std::uint32_t client = 0; client < crowd.clients; ++client)
        if (groups->of_client[client] != group) others.push_back(client);
      federated::evaluation alone(e, {7, model}, nullptr);
      alone.leave_out(others);
      federated::workspace use;
      BOOST_REQUIRE(alone.score_all(use));
      const auto expected = alone.report();
      check_same(report.by_client_group[group][0], expected.validation);
      check_same(report.by_client_group[group][1], expected.seen);
      check_same(report.by_client_group[group][2], expected.unseen);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_group_without_scored_clients_has_no_figures) {
  auto e = experiment_of("fedavg", {}, tests::make_ratings(5, crowd));
  const auto model = federated::initial_model(e);
  BOOST_TEST(report_of(e, model).by_client_group.empty());
  auto groups = std::make_shared<federated::client_groups>();
  groups->names = {"trains", "does not"};
  groups->of_client.assign(crowd.clients, 1);
  for (const auto client : e.clients->training()) groups->of_client[client] = 0;
  e.settings.evaluation->groups_of_clients = groups;
  const auto report = report_of(e, model);
  check_same(report.by_client_group[0][1], report.seen);
  BOOST_TEST(!report.by_client_group[0][2].has_value());
  BOOST_TEST(!report.by_client_group[1][1].has_value());
  check_same(report.by_client_group[1][2], report.unseen);
}

// The figures of seen clients whose test parts are their train parts.
BOOST_AUTO_TEST_CASE(train_parts_are_scored_where_they_are_asked_for) {
  for (const auto* kind : {"fedavg", "fedrecon"})
    for (std::uint64_t trial = 0; trial < 3; ++trial) {
      const auto clients = tests::make_ratings(trial, crowd);
      auto e = experiment_of(kind, {}, clients);
      e.settings.evaluation->clients = trial < 2 ? 0 : 90;
      const auto model = federated::initial_model(e);
      BOOST_TEST(!report_of(e, model).train.has_value());
      e.settings.evaluation->groups = {true, true, true, true};
      const auto report = report_of(e, model);
      BOOST_TEST(report.train->clients == (trial < 2 ? clients->seen.size() : 90U));

      e.settings.evaluation->groups = federated::evaluation_settings::default_groups;
      check_same(report_of(e, model).seen, report.seen);
      if (trial == 2) continue;  // other clients are drawn for another group
      for (const auto client : clients->seen) clients->tables[client].test = clients->tables[client].train;
      check_same(report_of(e, model).seen, report.train);
    }
}

BOOST_AUTO_TEST_SUITE_END()
