// When a run has diverged, and that a single client, or a few updates, do not decide it.
#include "federated/divergence.hpp"

#include <cmath>

#include "federated/protocol/server_machine.hpp"
#include "federated/settings/evaluation.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(divergences)

using namespace furlong;
using namespace furlong::federated;

namespace {

/// A report of the seen group.
evaluation_report report_of(std::uint64_t clients, std::uint64_t unscored, double loss) {
  evaluation_report report;
  report.seen.emplace();
  report.seen->clients = clients;
  report.seen->examples = clients;
  report.seen->unscored = unscored;
  report.seen->loss = clients > 0 ? loss : NAN;
  for (std::uint32_t i = 0; i < unscored; ++i) report.unscored.push_back({group::seen, i, "loss"});
  return report;
}

experiment rated(const run_settings& settings = {}) {
  return tests::make_experiment(settings, tests::make_ratings(41), {}, {});
}

}  // namespace

BOOST_AUTO_TEST_CASE(most_clients_of_a_group_decide_and_one_does_not) {
  const auto e = rated();
  for (const auto& [clients, unscored, diverged] :
       {std::tuple(5U, 1U, false), {5U, 5U, false}, {5U, 6U, true}, {0U, 1U, false}, {1U, 1U, false}, {0U, 2U, true}}) {
    for (const bool noted : {true, false}) {
      auto state = initial_state(e);
      const auto report = report_of(clients, unscored, 0.5);
      noted ? watch_evaluation(e, state, report) : watch_scores(state, report);
      BOOST_TEST(!state.losses.diverged.empty() == diverged);
      BOOST_TEST(divergence_of(state).has_value() == diverged);
      if (noted) BOOST_TEST(state.losses.evaluation[1].has_value() == (clients > 0 && !diverged));
      if (diverged) BOOST_TEST(state.losses.diverged.ends_with("clients of the group seen have no finite score"));
    }
  }
}

BOOST_AUTO_TEST_CASE(losses_are_compared_over_the_scored_clients) {
  auto e = rated();
  e.settings.diverged_at = 10;
  auto state = initial_state(e);
  watch_evaluation(e, state, report_of(9, 1, 1.0));
  watch_evaluation(e, state, report_of(0, 1, NAN));
  watch_evaluation(e, state, report_of(9, 1, 9.9));
  BOOST_TEST(state.losses.diverged.empty());
  watch_evaluation(e, state, report_of(9, 1, 10.1));
  BOOST_TEST(state.losses.diverged == "the loss of seen clients grew from 1 to 10.1");
}

BOOST_AUTO_TEST_CASE(a_model_that_is_not_finite_has_diverged) {
  const auto e = rated();
  auto state = initial_state(e);
  BOOST_TEST(!divergence_of(state).has_value());
  state.model.values()[0] = NAN;
  BOOST_TEST(divergence_of(state).value() == "the model is not finite");
}

BOOST_AUTO_TEST_CASE(a_server_records_who_has_no_finite_score_and_judges_its_best_model_too) {
  run_settings settings;
  settings.rounds = 5;
  const auto e = rated(settings);
  auto start = initial_state(e);
  start.version = 5;
  start.now = 77;
  protocol::server_machine server(e, start);
  auto report = report_of(8, 2, 0.5);
  report.version = 5;
  const auto effects = server.on_evaluated(report);
  BOOST_REQUIRE(effects.size() == 3U);
  for (std::uint32_t i = 0; i < 2; ++i) {
    const auto& event = std::get<protocol::note>(effects[i]).event;
    BOOST_TEST(event.what == "unscored");
    BOOST_TEST(event.at == 77);
    BOOST_TEST(event.round == 5U);
    BOOST_TEST(event.client.value() == i);
    BOOST_TEST(event.detail == "seen loss");
  }
  BOOST_TEST(std::holds_alternative<protocol::checkpoint>(effects[2]));
  BOOST_TEST(server.state().losses.diverged.empty());

  auto chosen = start;
  chosen.best = std::make_shared<const protocol::best_model>(
      protocol::best_model{"validation.loss", scoring_id(*e.settings.evaluation), 0.1, 3, start.model, start.added});
  auto keeping = e;
  keeping.settings.evaluation->keep_best = true;
  protocol::server_machine reviewing(keeping, chosen);
  BOOST_REQUIRE(std::holds_alternative<protocol::evaluate>(reviewing.on_evaluated({}).at(0)));
  BOOST_TEST(reviewing.under_test().version == 3U);
  BOOST_REQUIRE(std::holds_alternative<protocol::checkpoint>(reviewing.on_evaluated(report_of(1, 4, 0.5)).back()));
  BOOST_TEST(!reviewing.state().losses.diverged.empty());
}

BOOST_AUTO_TEST_SUITE_END()
