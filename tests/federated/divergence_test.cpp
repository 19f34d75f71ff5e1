// When a run has diverged, and that a single client, or a few updates, do not decide it.
#include "federated/rounds/divergence.hpp"

#include <cmath>

#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/reference_loop.hpp"
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

/// A round with so many aggregated updates, and rejected ones.
struct told_round {
  std::uint64_t sound = 0;
  std::uint64_t rejected = 0;
  rejection why = rejection::not_finite;
  std::uint64_t empty = 0;  ///< updates of clients without examples

  [[nodiscard]] round_report report() const {
    round_report made;
    made.folded = sound + empty;
    for (std::uint32_t i = 0; i < rejected; ++i) made.refused.push_back({{i, 0}, why});
    return made;
  }
  [[nodiscard]] round_facts facts(const experiment& e) const {
    round_facts made(e);
    settlement one;
    for (std::uint64_t i = 0; i < sound + empty; ++i) {
      one.size.weight = i < sound ? 1 : 0;
      made.add(one, {});
    }
    return made;
  }
};

/// The versions that a run makes of these rounds, repeated; 0: it goes on.
std::uint64_t end_of(const std::vector<told_round>& rounds, const participation_settings& how) {
  run_settings settings;
  *settings.participation = how;
  const auto e = rated(settings);
  auto state = initial_state(e);
  for (std::uint64_t version = 1; version <= 500; ++version) {
    const auto& round = rounds[(version - 1) % rounds.size()];
    watch_training(e, state, round.report(), round.facts(e));
    if (!state.losses.diverged.empty()) return version;
  }
  return 0;
}

/// Every update is beyond the bound.
run_settings hopeless() {
  auto settings = tests::plain_settings();
  settings.rounds = 90;
  settings.evaluation->every = 4;
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.participation->per_round = 5;
  settings.aggregation->max_norm = 1e-9F;
  settings.aggregation->norm_bound = federated::norm_bound_kind::fixed;
  return settings;
}

server_state end_of(const experiment& e, server_state start) {
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  return std::move(simulate(e, std::move(start), store, {}, stop).value().state);
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
  chosen.best = std::make_shared<const best_model>(
      best_model{"validation.loss", scoring_id(*e.settings.evaluation), 0.1, 3, start.model, start.added});
  auto keeping = e;
  keeping.settings.evaluation->keep_best = true;
  protocol::server_machine reviewing(keeping, chosen);
  BOOST_REQUIRE(std::holds_alternative<protocol::evaluate>(reviewing.on_evaluated({}).at(0)));
  BOOST_TEST(reviewing.under_test().version == 3U);
  BOOST_REQUIRE(std::holds_alternative<protocol::checkpoint>(reviewing.on_evaluated(report_of(1, 4, 0.5)).back()));
  BOOST_TEST(!reviewing.state().losses.diverged.empty());
}

BOOST_AUTO_TEST_CASE(rounds_of_rejected_updates_end_a_run) {
  participation_settings how;
  how.per_round = 20;
  for (const auto why : {rejection::not_finite, rejection::norm_bound, rejection::attention_range}) {
    BOOST_TEST(end_of({told_round{0, 20, why}}, how) == 10U);
    BOOST_TEST(end_of({told_round{2, 18, why}}, how) == 12U);  // 200 of them
    BOOST_TEST(end_of({told_round{3, 17, why}}, how) == 0U);
  }
  for (const auto why : {rejection::client_failed, rejection::weight_bound, rejection::stale_version})
    BOOST_TEST(end_of({told_round{0, 20, why}}, how) == 0U);
  auto sound = std::vector<told_round>(9, told_round{0, 20});
  sound.push_back(told_round{20, 0});
  BOOST_TEST(end_of(sound, how) == 0U);
  sound.back() = told_round{0, 0};  // nobody reported
  BOOST_TEST(end_of(sound, how) == 11U);
  sound.back().empty = 20;  // who report has nothing to train on
  BOOST_TEST(end_of(sound, how) == 11U);
  how.per_round = 1;  // too few to tell
  BOOST_TEST(end_of({told_round{0, 1}}, how) == 100U);
  how.per_round = 1000;
  BOOST_TEST(end_of({told_round{0, 20}}, how) == 500U);
  how.mode = participation_mode::async;
  how.buffer = 15;
  BOOST_TEST(end_of({told_round{0, 20}}, how) == 8U);
}

BOOST_AUTO_TEST_CASE(a_run_without_usable_updates_ends_early_under_every_driver_and_after_a_resume) {
  auto settings = hopeless();
  const auto whole = end_of(tests::simulated(settings), initial_state(tests::simulated(settings)));
  const auto end = whole.version;
  const auto rejected = whole.counts.rejected[static_cast<std::size_t>(rejection::norm_bound)];
  BOOST_TEST(rejected >= 100U);
  BOOST_TEST(rejected < 105U);           // by one round of 5
  BOOST_TEST(whole.counts.folded > 0U);  // of clients without examples
  BOOST_TEST(divergence_of(whole).value() ==
             "nearly all updates of the last versions were rejected as too large or not finite (" +
                 std::to_string(rejected) + ")");
  {
    const auto e = tests::simulated(settings);
    storage::memory_store store(e.parts.private_);
    BOOST_TEST(run_reference(e, store, {}).value().state.version == end);
  }
  settings.until->pause_after = 13;
  const auto e = tests::simulated(settings);
  auto stopped = end_of(e, initial_state(e));
  BOOST_TEST(stopped.version == 13U);
  BOOST_TEST(stopped.losses.rejected_in_a_row > 50U);
  settings.until->pause_after = 0;
  const auto resumed = end_of(tests::simulated(settings), std::move(stopped));
  BOOST_TEST(resumed.version == end);
  BOOST_TEST((resumed.losses == whole.losses));

  settings.topology->nodes = 3;
  const auto federation = tests::simulated(settings);
  BOOST_TEST(end_of(federation, initial_state(federation)).version == end);

  settings.topology->nodes = 0;
  settings.participation->mode = participation_mode::async;
  settings.participation->concurrency = 4;
  settings.participation->buffer = 3;
  const auto async = tests::simulated(settings);
  const auto last = end_of(async, initial_state(async));
  BOOST_TEST(last.version < 90U);
  BOOST_TEST(!last.losses.diverged.empty());
}

BOOST_AUTO_TEST_SUITE_END()
