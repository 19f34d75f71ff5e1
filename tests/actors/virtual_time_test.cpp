// Virtual time on actors: the same run, bit for bit, on any number of threads, stopped and resumed or not.
#include <boost/test/unit_test.hpp>

#include "actors/actor_engine.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/actors/runs.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(virtual_time)

using namespace furlong;
using namespace furlong::federated;
using tests::recorder;

namespace {

recorder run_on(const experiment& e, std::size_t threads) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const auto observer = made.observer();
  auto outcome = actors::run_actors(e, initial_state(e), store, observer, stop, {threads});
  BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome.has_value() ? std::string() : outcome.error().text()));
  made.finish(*outcome, store);
  return made;
}

/// A run that is stopped again and again, each time on another number of threads.
recorder run_in_lives(const experiment& e) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  auto state = initial_state(e);
  for (std::size_t life = 0;; ++life) {
    BOOST_REQUIRE(life < 100U);
    std::atomic<bool> stop = false;
    auto observer = made.observer();
    const auto on_round = observer.on_round;
    observer.on_round = [&](const round_report& report) {
      if (life % 2 == 0) stop = true;
      return on_round(report);
    };
    const auto on_event = observer.on_event;
    observer.on_event = [&](const run_event& event) {
      if (life % 2 == 1) stop = true;
      return on_event(event);
    };
    auto outcome = actors::run_actors(e, std::move(state), store, observer, stop, {1 + life % 3});
    BOOST_REQUIRE_MESSAGE(outcome.has_value(), (outcome.has_value() ? std::string() : outcome.error().text()));
    if (!outcome->interrupted) {
      made.finish(*outcome, store);
      return made;
    }
    state = *made.checkpoint;
    state.history.resume(state.version, 1);
    store.resume(state.history);
    made.cut_back();
  }
}

/// Synchronous, FedBuff and FedAsync, each under heavy dropout.
std::vector<std::pair<std::string, run_settings>> stormy() {
  run_settings s;
  s.seed = 12;
  s.rounds = 12;
  *s.algorithm = federated::chosen_algorithm("furl");
  *s.client = {.lr = 0.1F, .epochs = 2, .batch_size = 4, .shuffle = true};
  *s.evaluation = {.every = 4, .reconstruct = {"user"}};
  s.participation->per_round = 6;
  s.participation->over_selection = 1.5;
  s.participation->deadline = 0.8;
  s.participation->retry = 1;
  s.devices->speed_sigma = 1.0;
  *s.dropout = {.download = 0.1, .train = 0.2, .upload = 0.2};
  std::vector<std::pair<std::string, run_settings>> all = {{"synchronous", s}};
  *s.participation = {};
  s.participation->mode = participation_mode::async;
  s.participation->buffer = 3;
  s.participation->concurrency = 8;
  s.participation->retry = 1;
  s.aggregation->rule = federated::chosen_rule("fedatt");
  all.emplace_back("fedbuff with fedatt", s);
  *s.algorithm = federated::chosen_algorithm("fedrecon");
  s.aggregation->rule = federated::chosen_rule("mean");
  s.participation->buffer = 1;
  s.participation->async = async_kind::model;
  all.emplace_back("fedasync with fedrecon", s);
  return all;
}

}  // namespace

BOOST_AUTO_TEST_CASE(threads_change_nothing) {
  for (const auto& [name, settings] : stormy()) BOOST_TEST_CONTEXT(name) {
      const auto e = tests::simulated(settings);
      const auto expected = tests::run_serially(e);
      BOOST_TEST(expected.trace.counts.settled() > expected.trace.counts.folded);
      for (const std::size_t threads : {1, 2, 4}) tests::check_same(run_on(e, threads).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(threads_change_nothing_in_a_federation_of_processes) {
  for (auto [name, settings] : stormy()) BOOST_TEST_CONTEXT(name) {
      settings.topology->nodes = 3;
      settings.topology->aggregators = 2;
      *settings.events = {
          {.seconds = 0.5, .what = event_kind::kill, .target = event_target::nodes, .first = 1, .last = 1},
          {.seconds = 1.2, .what = event_kind::restart, .target = event_target::nodes, .first = 1, .last = 1}};
      const auto e = tests::simulated(settings);
      const auto expected = tests::run_serially(e);
      BOOST_TEST(expected.trace.counts.settled() > expected.trace.counts.folded);
      for (const std::size_t threads : {1, 2, 4}) tests::check_same(run_on(e, threads).trace, expected.trace);
    }
}

BOOST_AUTO_TEST_CASE(stops_and_resumes_change_nothing) {
  for (const auto& [name, settings] : stormy()) BOOST_TEST_CONTEXT(name) {
      const auto e = tests::simulated(settings);
      tests::check_same(run_in_lives(e).trace, tests::run_serially(e).trace);
    }
}

BOOST_AUTO_TEST_CASE(random_worlds_are_the_same_on_threads) {
  for (std::uint64_t trial = 1000; trial < 1030; ++trial) BOOST_TEST_CONTEXT("trial " << trial) {
      const auto e = tests::simulated(tests::random_settings(trial));
      tests::check_same(run_on(e, 2).trace, tests::run_serially(e).trace);
    }
}

// The same machines under the real clock and in virtual time: without deadlines no bit differs.
BOOST_AUTO_TEST_CASE(both_clocks_give_the_same_run) {
  auto all = tests::scenarios();
  all.push_back(all[2]);
  all.back().name = "furl, after-ack";
  all.back().settings.own->commit = federated::commit_kind::after_ack;
  for (const auto& s : all) {
    BOOST_TEST_CONTEXT(s.name) {
      const auto real = s.assemble(2);
      storage::memory_store real_store(real.parts.private_);
      const std::atomic<bool> stop = false;
      const auto by_wall = actors::run_actors(real, initial_state(real), real_store, tests::quiet(), stop, {2}).value();
      const auto simulated = tests::in_a_world(s.assemble(2));
      storage::memory_store store(simulated.parts.private_);
      const auto in_time = actors::run_actors(simulated, initial_state(simulated), store, tests::quiet(), stop, {2});
      BOOST_REQUIRE(in_time);
      tests::check_same(*in_time, by_wall);
      BOOST_TEST(tests::private_values(store) == tests::private_values(real_store));
      BOOST_TEST(in_time->state.now > 0);
    }
  }
}

// Damage of one value is its client's failure. A store that fails ends the run.
BOOST_AUTO_TEST_CASE(a_damaged_value_fails_its_client_and_a_failing_store_the_run) {
  class failing final : public storage::memory_store {
   public:
    failing(models::layout_ptr shape, error::kind what) : storage::memory_store(std::move(shape)), what_(what) {}
    result<void> commit(std::uint32_t client, std::uint64_t version, const models::private_parameters& value) override {
      if (client == 5) return fail(what_, "client 5", "its value cannot be written");
      return storage::memory_store::commit(client, version, value);
    }

   private:
    error::kind what_;
  };
  auto settings = stormy().front().second;
  settings.participation->per_round = 17;
  settings.participation->over_selection = 1.0;
  settings.participation->deadline = 0;
  *settings.dropout = {};
  const auto e = tests::simulated(settings);
  const std::atomic<bool> stop = false;
  std::uint64_t noted = 0;
  auto observer = tests::quiet();
  observer.on_event = [&](const federated::run_event& event) -> result<void> {
    if (event.what != "client-failed") return {};
    BOOST_TEST(event.client.value() == 5U);
    BOOST_TEST(event.detail == "client 5: its value cannot be written");
    ++noted;
    return {};
  };
  failing damaged(e.parts.private_, error::kind::data);
  const auto done = actors::run_actors(e, initial_state(e), damaged, observer, stop, {2}).value();
  BOOST_TEST(noted > 0U);
  BOOST_TEST(done.state.counts.rejected[static_cast<std::size_t>(federated::rejection::client_failed)] == noted);

  failing full(e.parts.private_, error::kind::runtime);
  const auto ended = actors::run_actors(e, initial_state(e), full, tests::quiet(), stop, {2});
  BOOST_REQUIRE(!ended);
  BOOST_TEST(ended.error().text() == "client 5: its value cannot be written");
}

BOOST_AUTO_TEST_SUITE_END()
