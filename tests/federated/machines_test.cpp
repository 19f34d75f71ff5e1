// The protocol's state machines together: rounds, stops, restarts, faults.
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "base/digest.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"
#include "tests/federated/federation.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(machines)

using namespace furlong;
using federated::rejection;
using tests::federation;

namespace {

federated::run_settings settings_of(std::uint32_t aggregators, std::string_view rule) {
  federated::run_settings settings;
  settings.seed = 3;
  settings.rounds = 7;
  settings.participation->per_round = 9;
  settings.topology->aggregators = aggregators;
  *settings.client = {.lr = 0.1F, .epochs = 1, .batch_size = 4};
  settings.aggregation->rule = federated::chosen_rule(rule);
  settings.server->optimizer = federated::optimizer_kind::yogi;
  settings.server->lr = 0.1;
  return settings;
}

federated::experiment experiment_of(const federated::run_settings& settings) {
  return tests::make_experiment(settings, tests::make_ratings(11), {{"item_bias", true}}, {});
}

std::string hash(const federated::server_state& state) { return hex(models::model_sha256(state.model)); }

std::uint64_t rejected(const federated::accounting& counts) {
  return std::accumulate(counts.rejected.begin(), counts.rejected.end(), std::uint64_t{0});
}

federated::server_state reference(const federated::experiment& e) {
  storage::memory_store store(e.parts.private_);
  const federated::run_observer quiet{[](const auto&) { return result<void>{}; },
                                      [](const auto&) { return result<void>{}; }, nullptr};
  return federated::run_reference(e, store, quiet).value().state;
}

constexpr std::string_view rules[] = {"mean", "uniform-mean", "fedatt"};

}  // namespace

BOOST_AUTO_TEST_CASE(whole_runs_in_any_order_equal_the_reference_loop) {
  for (const auto rule : rules)
    for (const std::uint32_t aggregators : {1U, 3U, 20U}) {  // 20: more than the cohort has clients
      const auto e = experiment_of(settings_of(aggregators, rule));
      const auto expected = reference(e);
      for (const std::uint64_t seed : {1U, 2U, 50U}) {
        federation all(e, federated::initial_state(e), seed);
        all.run();
        const auto state = all.server().snapshot();
        BOOST_TEST(hash(state) == hash(expected));
        BOOST_TEST((state.optimizer == expected.optimizer));
        BOOST_TEST((state.counts == expected.counts));
        BOOST_TEST(state.reference == expected.reference);
        BOOST_TEST(!all.interrupted());
        BOOST_TEST(all.rounds().size() == 7U);
        BOOST_TEST(all.evaluations() == 1U);
        BOOST_TEST(all.checkpoints() == 1U);
      }
    }
}

BOOST_AUTO_TEST_CASE(a_stop_ends_with_a_checkpoint_from_which_the_run_goes_on_as_if_never_stopped) {
  for (const auto rule : rules) {
    const auto e = experiment_of(settings_of(3, rule));
    const auto expected = reference(e);
    for (std::uint64_t stop = 0; stop < 6; ++stop) {
      federation first(e, federated::initial_state(e), 1);
      first.run(stop);
      BOOST_TEST(first.interrupted());
      BOOST_TEST(first.checkpoints() == 1U);
      BOOST_TEST(first.server().state().version == stop + 1);  // the round under way was the last
      federation second(e, first.server().snapshot(), 2);
      second.run();
      BOOST_TEST(!second.interrupted());
      BOOST_TEST(hash(second.server().state()) == hash(expected));
      BOOST_TEST((second.server().snapshot().optimizer == expected.optimizer));
      BOOST_TEST((second.server().state().counts == expected.counts));
    }
    federation last(e, federated::initial_state(e), 1);
    last.run(6);
    BOOST_TEST(!last.interrupted());  // stopped in the last round: there was nothing left to interrupt
  }
}

BOOST_AUTO_TEST_CASE(a_finished_run_only_evaluates) {
  const auto e = experiment_of(settings_of(1, "mean"));
  const auto done = reference(e);
  federation again(e, done, 1);
  again.run();
  BOOST_TEST(again.rounds().empty());
  BOOST_TEST(again.evaluations() == 1U);
  BOOST_TEST(hash(again.server().state()) == hash(done));
}

BOOST_AUTO_TEST_CASE(evaluations_and_checkpoints_come_when_due) {
  auto settings = settings_of(2, "mean");
  settings.evaluation->every = 2;  // after 2, 4, 6, and 7 as the last
  settings.checkpoint_every = 3;   // after 3, 6 and 7
  const auto e = experiment_of(settings);
  federation all(e, federated::initial_state(e), 1);
  all.run();
  BOOST_TEST(all.evaluations() == 4U);
  BOOST_TEST(all.checkpoints() == 3U);
}

// selected = folded + rejected, whatever clients and networks do; and what was refused has moved nothing.
BOOST_AUTO_TEST_CASE(the_accounts_balance_under_faults) {
  std::map<rejection, std::uint64_t> seen;
  std::map<rejection, std::uint64_t> turned_away;
  for (std::uint64_t trial = 0; trial < 60; ++trial) {
    random_stream stream(trial, purpose::test, 1);
    auto settings = settings_of(1 + stream.below(4), rules[stream.below(3)]);
    settings.participation->per_round = 1 + stream.below(17);
    settings.rounds = 1 + stream.below(4);
    settings.aggregation->max_weight = 12;  // some have more examples
    const auto e = experiment_of(settings);
    federation all(e, federated::initial_state(e), trial, {2 + stream.below(6)});
    all.run();
    const auto& counts = all.server().state().counts;
    BOOST_TEST(counts.selected == settings.rounds * settings.participation->per_round);
    BOOST_TEST(counts.selected == counts.folded + rejected(counts) + counts.abandoned);
    BOOST_TEST(counts.in_flight() == 0U);
    for (const auto& round : all.rounds()) {
      BOOST_TEST(round.selected == round.folded + round.rejected + round.abandoned);
      BOOST_TEST(round.refused.size() == round.rejected);
      for (const auto& one : round.refused) ++seen[one.why];
    }
    for (const auto& [why, count] : all.turned_away()) turned_away[why] += count;
    for (const auto value : all.server().state().model.values()) BOOST_REQUIRE(std::abs(value) < 1e3F);
  }
  for (const auto why :
       {rejection::client_failed, rejection::norm_bound, rejection::wrong_shape, rejection::weight_bound})
    BOOST_TEST(seen[why] > 0U, to_string(why));
  for (const auto why : {rejection::unknown_task, rejection::stale_version, rejection::duplicate})
    BOOST_TEST(turned_away[why] > 0U, to_string(why));
}

// A client that is refused counts for nothing: the round is that of the others.
BOOST_AUTO_TEST_CASE(a_round_in_which_all_fail_leaves_the_model) {
  auto settings = settings_of(2, "mean");
  settings.aggregation->max_norm = 1e-12;
  const auto e = experiment_of(settings);
  federation all(e, federated::initial_state(e), 1);
  all.run();
  BOOST_TEST(hash(all.server().state()) == hash(federated::initial_state(e)));
  BOOST_TEST(all.server().state().version == 7U);
  for (const auto& round : all.rounds()) BOOST_TEST(!round.applied);
}

BOOST_AUTO_TEST_SUITE_END()
