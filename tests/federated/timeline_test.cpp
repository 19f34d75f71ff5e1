// Federations in virtual time: what must hold in every one of them.
#include "federated/simulation/timeline.hpp"

#include <set>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tests/support/algorithm_kinds.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(timelines)

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;
using tests::run_serially;
using tests::simulated;
using tests::total;

namespace {

/// Drives a run a result at a time; takes jobs `ahead` of need, and hands their results back last first.
recorder run_ahead(const experiment& e, std::size_t ahead) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  const auto observer = made.observer();
  timeline line(e, initial_state(e), store, observer);
  workspace use;
  std::vector<training_job> taken;
  for (;;) {
    const auto needs = line.advance();
    BOOST_REQUIRE(needs);
    if (*needs == run_needs::nothing) break;
    if (*needs == run_needs::training) {
      line.take_jobs(ahead, taken);
      for (; !taken.empty(); taken.pop_back()) {
        perform(e, store, taken.back(), use);
        line.on_trained(std::move(taken.back()));
      }
      continue;
    }
    if (*needs == run_needs::evaluation)
      line.on_evaluated({});
    else
      BOOST_REQUIRE(line.on_checkpointed());
  }
  made.finish({line.snapshot(), {}, line.interrupted()}, store);
  return made;
}

/// A run in lives: killed after every round, resumed from the last checkpoint, the store as a crash leaves it. After
/// the first life it has so many aggregators.
recorder run_in_lives(experiment e, std::uint32_t aggregators) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  auto state = initial_state(e);
  for (int life = 0;; ++life) {
    BOOST_REQUIRE(life < 100);
    std::atomic<bool> stop = false;
    auto observer = made.observer();
    const auto on_round = observer.on_round;
    int rounds = 0;
    observer.on_round = [&](const round_report& report) {
      if (++rounds == 1 + life % 3) stop = true;
      return on_round(report);
    };
    auto outcome = simulate(e, std::move(state), store, observer, stop);
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome.has_value() ? std::string() : outcome.error().text()));
    if (!outcome->interrupted) {
      made.finish(*outcome, store);
      return made;
    }
    // Somebody goes on after the checkpoint, and then the power fails.
    state = *made.checkpoint;
    state.ledger = std::make_shared<participation_ledger>(*made.checkpoint->ledger);
    auto lost = made.observer();
    lost.on_checkpoint = nullptr;
    int more = 0;
    lost.on_round = [&](const round_report&) -> result<void> {
      if (++more == 2) return fail(error::kind::runtime, "power", "is gone");
      return {};
    };
    lost.on_event = nullptr;
    auto resumed_for_nothing = state;
    resumed_for_nothing.ledger = std::make_shared<participation_ledger>(*state.ledger);
    class uncovered final : public private_store {  // whose checkpoints are never durable
     public:
      explicit uncovered(private_store& inner) : inner_(inner) {}
      result<bool> load(std::uint32_t c, models::private_parameters& out) override { return inner_.load(c, out); }
      result<void> commit(std::uint32_t c, std::uint64_t v, const models::private_parameters& value) override {
        return inner_.commit(c, v, value);
      }
      result<void> sync() override { return fail(error::kind::runtime, "disk", "is full"); }
      void covered(std::uint64_t) override {}
      result<bool> erase(std::uint32_t) override { return false; }
      result<void> visit(
          const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
        return inner_.visit(each);
      }

     private:
      private_store& inner_;
    } half_way(store);
    if (state.simulation.erasures.empty()) {
      const std::atomic<bool> never = false;
      static_cast<void>(simulate(e, std::move(resumed_for_nothing), half_way, lost, never));
    }
    state.history.resume(state.version, 1);
    store.resume(state.history);
    made.cut_back();
    e.settings.topology->aggregators = aggregators;
  }
}

recorder run_in_lives(const experiment& e) { return run_in_lives(e, e.settings.topology->aggregators); }

}  // namespace

BOOST_AUTO_TEST_CASE(without_deadlines_virtual_time_changes_no_bit) {
  for (const auto& kind : tests::algorithm_kinds())
    for (const std::string_view policy : {"uniform", "weight", "round-robin", "least-recent", "power-of-choice"}) {
      auto settings = tests::plain_settings();
      *settings.algorithm = federated::chosen_algorithm(kind);
      if (!settings.algorithm->traits.sends) continue;
      settings.participation->policy = federated::chosen_policy(policy);
      settings.topology->aggregators = 2;
      const auto e = simulated(settings);
      const auto made = run_serially(e);
      storage::memory_store store(e.parts.private_);
      const run_observer quiet{[](const auto&) { return result<void>{}; }, [](const auto&) { return result<void>{}; },
                               nullptr, nullptr};
      const auto expected = run_reference(e, store, quiet).value();
      recorder reference;
      reference.finish(expected, store);
      BOOST_TEST(made.trace.model == reference.trace.model);
      BOOST_TEST(made.trace.own == reference.trace.own);
      BOOST_TEST((made.trace.counts == expected.state.counts));
      BOOST_TEST(made.trace.ended > 0);
    }
}

// Bar: selected = folded + rejected + late + surplus + dropped + abandoned + in flight, whatever happens.
BOOST_AUTO_TEST_CASE(the_accounts_balance_in_200_random_worlds) {
  accounting all;
  for (std::uint64_t trial = 0; trial < 200; ++trial) {
    BOOST_TEST_CONTEXT("trial " << trial) {
      const auto made = run_serially(simulated(tests::random_settings(trial)));
      const auto& counts = made.trace.counts;
      std::uint64_t folded = 0;
      std::uint64_t settled = 0;
      std::uint64_t selected = 0;
      for (const auto& r : made.reports) {
        folded += r.folded;
        selected += r.selected;
        settled += r.folded + r.rejected + r.late + r.surplus + total(r.dropped) + r.abandoned;
        BOOST_TEST(selected == settled + r.in_flight);
        BOOST_TEST(r.began_at <= r.ended_at);
      }
      BOOST_TEST(counts.folded == folded);
      BOOST_TEST(counts.selected == selected);
      BOOST_TEST(counts.settled() == settled);
      BOOST_TEST(counts.selected == counts.folded + total(counts.rejected) + counts.late + counts.surplus +
                                        total(counts.dropped) + counts.abandoned + counts.in_flight());
      std::uint64_t by_client = 0;
      std::uint64_t asked = 0;
      for (const auto& record : made.trace.ledger) by_client += record.folded, asked += record.selected;
      BOOST_TEST(by_client == folded);
      BOOST_TEST(asked == selected);
      all.folded += counts.folded;
      all.late += counts.late;
      all.surplus += counts.surplus;
      all.abandoned += counts.abandoned;
      for (std::size_t i = 0; i < all.dropped.size(); ++i) all.dropped[i] += counts.dropped[i];
      for (std::size_t i = 0; i < all.rejected.size(); ++i) all.rejected[i] += counts.rejected[i];
      all.rounds_abandoned += counts.rounds_abandoned;
    }
  }
  // The worlds were not tame.
  BOOST_TEST(all.folded > 1000U);
  for (const auto n : {all.late, all.surplus, all.abandoned, all.dropped[0], all.dropped[1], all.dropped[2],
                       total(all.rejected), all.rounds_abandoned})
    BOOST_TEST(n > 20U);
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_how_far_ahead_training_is_done) {
  for (std::uint64_t trial = 0; trial < 60; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      const auto e = simulated(tests::random_settings(trial));
      const auto expected = run_ahead(e, 1);
      for (const std::size_t ahead : {3U, 1000U}) tests::check_same(run_ahead(e, ahead).trace, expected.trace);
      tests::check_same(run_serially(e).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(it_does_not_matter_how_many_aggregators_there_are) {
  for (std::uint64_t trial = 0; trial < 40; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      auto settings = tests::random_settings(trial);
      settings.topology->aggregators = 1;
      const auto expected = run_serially(simulated(settings));
      settings.topology->aggregators = 4;
      tests::check_same(run_serially(simulated(settings)).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(killed_and_resumed_equals_uninterrupted) {
  for (std::uint64_t trial = 0; trial < 80; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      auto settings = tests::random_settings(trial);
      settings.rounds += 3;
      const auto e = simulated(settings);
      tests::check_same(run_in_lives(e).trace, run_serially(e).trace);
    }
}

BOOST_AUTO_TEST_CASE(a_run_can_be_resumed_with_fewer_aggregators) {
  auto over_selected = tests::plain_settings();
  over_selected.participation->per_round = 4;
  over_selected.participation->over_selection = 2.0;
  auto async = tests::plain_settings();
  async.rounds = 8;
  async.participation->mode = participation_mode::async;
  async.participation->buffer = 3;
  async.participation->concurrency = 9;
  std::vector<run_settings> all = {over_selected, async};
  for (std::uint64_t trial = 0; trial < 40; ++trial) all.push_back(tests::random_settings(trial));
  for (std::size_t i = 0; i < all.size(); ++i) BOOST_TEST_CONTEXT("settings " << i) {
      all[i].topology->aggregators = 4;
      const auto e = simulated(all[i]);
      tests::check_same(run_in_lives(e, 1).trace, run_serially(e).trace);
    }
}

// More tasks than the picture of a round has room for: which of them are in it must not depend on the lives before.
BOOST_AUTO_TEST_CASE(the_picture_of_a_round_does_not_depend_on_lives) {
  auto shape = tests::ratings_shape{};
  shape.clients = 607;
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    auto settings = tests::plain_settings();
    settings.seed = seed;
    settings.rounds = 2;
    *settings.algorithm = federated::chosen_algorithm("fedavg");
    settings.participation->per_round = 60;
    settings.participation->over_selection = 4.0;
    const auto e = tests::in_a_world(tests::make_experiment(settings, tests::make_ratings(41, shape), {}, {}));
    const auto whole = run_serially(e);
    BOOST_TEST(whole.reports[1].spans.size() == 200U);
    tests::check_same(run_in_lives(e).trace, whole.trace);
  }
}

// Stragglers keep no model alive that nobody trains from any more.
BOOST_AUTO_TEST_CASE(a_checkpoint_holds_the_models_that_are_trained_from) {
  for (const auto commit : {commit_kind::after_ack, commit_kind::after_training})
    for (const std::string_view kind : {"fedavg", "furl"}) {
      auto settings = tests::plain_settings();
      *settings.algorithm = federated::chosen_algorithm(kind);
      settings.own->commit = commit;
      settings.rounds = 50;
      settings.participation->per_round = 5;
      settings.participation->deadline = 1;
      settings.devices->straggler_share = 0.1;
      settings.devices->straggler_factor = 1000;
      const auto e = simulated(settings);
      const auto whole = run_serially(e);
      const auto& state = *whole.checkpoint;
      BOOST_TEST(std::ranges::all_of(state.open, &open_task::closed));
      std::set<std::uint64_t> started_from;
      for (const auto& task : state.open) started_from.insert(task.id.version);
      BOOST_TEST(started_from.size() > 2U);
      const bool trains_on = kind == "furl" && commit == commit_kind::after_training;
      BOOST_TEST(state.started_from.size() == (trains_on ? started_from.size() : 0U));
      tests::check_same(run_in_lives(e).trace, whole.trace);
    }
}

BOOST_AUTO_TEST_SUITE_END()
