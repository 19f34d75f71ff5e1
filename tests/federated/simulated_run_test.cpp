// Runs with [topology] nodes in virtual time: they end as runs without nodes do, whatever happens to processes that
// come back in time.
#include <boost/test/unit_test.hpp>

#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(simulated_runs)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::tests;

namespace {

/// plain_settings() on 17 clients, four nodes, two aggregators.
run_settings with_nodes() {
  auto s = plain_settings();
  s.rounds = 12;
  s.topology->nodes = 4;
  s.topology->aggregators = 2;
  s.checkpoint_every = 3;
  s.network->heartbeat = 2.0;
  s.network->timeout = 3.0;
  s.devices->mbit = 0.05;
  return s;
}

event_settings at(double seconds, event_kind what, event_target target, std::uint32_t first, std::uint32_t last) {
  event_settings event;
  event.seconds = seconds;
  event.what = what;
  event.target = target;
  event.first = first;
  event.last = last;
  return event;
}

/// As without nodes.
recorder expected(run_settings s) {
  s.topology->nodes = 0;
  s.topology->aggregators = 1;
  s.events->clear();
  return run_serially(simulated(s));
}

std::uint64_t ends(const accounting& counts) { return counts.settled(); }

/// A run that is killed after a checkpoint, again and again, and goes on from it.
recorder with_power_losses(const experiment& e) {
  recorder made;
  storage::memory_store store(e.parts.private_);
  auto state = initial_state(e);
  const std::atomic<bool> never{false};
  for (std::uint64_t losses = 0;; ++losses) {
    auto observer = made.observer();
    const auto on_checkpoint = observer.on_checkpoint;
    observer.on_checkpoint = [&](server_state& at) {
      if (auto saved = on_checkpoint(at); !saved) return saved;
      if (at.version < e.settings.rounds && losses < 3)
        return result<void>(tl::unexpected(error{error::kind::runtime, "the power", "is lost", ""}));
      return result<void>{};
    };
    auto outcome = simulate(e, std::move(state), store, observer, never);
    if (outcome) {
      made.finish(*outcome, store);
      return made;
    }
    BOOST_REQUIRE(outcome.error().text().starts_with("the power"));
    made.cut_back();
    state = *made.checkpoint;
    state.ledger = std::make_shared<participation_ledger>(*state.ledger);
    state.history.resume(state.version, losses + 1);
    store.resume(state.history);
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(processes_change_no_model_and_no_private_value) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack})
    for (const std::uint32_t aggregators : {1U, 2U, 5U})
      for (const std::uint32_t fan_in : {0U, 1U}) {
        auto s = with_nodes();
        s.own->commit = commit;
        s.topology->aggregators = aggregators;
        s.topology->fan_in = fan_in;
        const auto plain = expected(s);
        const auto seen = run_serially(simulated(s));
        BOOST_TEST(seen.trace.model == plain.trace.model);
        BOOST_TEST(seen.trace.own == plain.trace.own);
        BOOST_TEST(seen.trace.counts.folded == 12U * 8U);
      }
}

// A synchronous round that waits for every task: aggregators may be lost at any moment, and nodes be cut off for less
// than the network's patience.
BOOST_AUTO_TEST_CASE(aggregators_that_are_killed_change_nothing) {
  using enum event_kind;
  using enum event_target;
  const auto plain = expected(with_nodes());
  for (const double when : {0.3, 0.5, 0.7, 1.1, 2.3}) {
    auto s = with_nodes();
    *s.events = {at(when, kill, aggregators, 0, 0),
                 at(when + 0.4, restart, aggregators, 0, 0),
                 at(when + 0.7, kill, aggregators, 0, 1),
                 at(when + 1.4, restart, aggregators, 0, 1),
                 at(when + 1.5, partition, nodes, 2, 2),
                 at(when + 4.0, heal, nodes, 2, 2),
                 at(when + 4.5, partition, aggregators, 1, 1),
                 at(when + 20.0, heal, aggregators, 1, 1)};
    const auto seen = run_serially(simulated(s));
    BOOST_TEST(seen.trace.model == plain.trace.model, "from " << when);
    BOOST_TEST(seen.trace.own == plain.trace.own, "from " << when);
    BOOST_TEST(total(seen.trace.counts.dropped) == 0U);
    BOOST_TEST(seen.trace.events.size() > 6U);
  }
}

// Tasks are lost with a node's process; one that has none at the moment may be killed.
BOOST_AUTO_TEST_CASE(idle_nodes_that_are_killed_change_nothing) {
  using enum event_kind;
  auto s = with_nodes();
  s.participation->policy = chosen_policy("round-robin");
  s.participation->per_round = 2;  // node 0 has clients 0 to 5, node 1 the next six, node 2 the other training clients
  s.own->commit = commit_kind::after_training;
  s.aggregation->norm_bound = norm_bound_kind::fixed;  // no version is abandoned, which would be an event too
  const auto plain = expected(s);
  const auto round = [](std::uint64_t number, event_kind what, std::uint32_t node) {
    auto event = at(0.0, what, event_target::nodes, node, node);
    event.at_round = true;
    event.round = number;
    return event;
  };
  *s.events = {round(2, kill, 2), round(3, restart, 2), round(2, kill, 1),   round(3, restart, 1),
               round(5, kill, 0), round(6, leave, 3),   round(7, restart, 0)};
  const auto seen = run_serially(simulated(s));
  BOOST_TEST(seen.trace.model == plain.trace.model);
  BOOST_TEST(seen.trace.own == plain.trace.own);
  BOOST_TEST(seen.trace.events.size() == s.events->size());
}

// What a node that is gone for long had to do is dropped, and the run goes on without it.
BOOST_AUTO_TEST_CASE(a_node_that_does_not_come_back_is_not_waited_for) {
  for (const auto what : {event_kind::kill, event_kind::partition}) {
    auto s = with_nodes();
    s.participation->retry = 1;
    *s.events = {at(0.5, what, event_target::nodes, 1, 1)};
    const auto seen = run_serially(simulated(s));
    BOOST_TEST(seen.reports.size() == s.rounds);
    BOOST_TEST(total(seen.trace.counts.dropped) > 0U);
    BOOST_TEST(seen.trace.counts.selected == ends(seen.trace.counts) + seen.trace.counts.in_flight());
    BOOST_TEST(seen.trace.ended > from_seconds(5.0));
  }
}

BOOST_AUTO_TEST_CASE(a_node_that_joins_late_is_not_there_before) {
  auto s = with_nodes();
  s.network->start = 0.5;
  s.participation->per_round = 17;
  *s.events = {at(1.0, event_kind::join, event_target::nodes, 0, 0)};
  const auto seen = run_serially(simulated(s));
  BOOST_TEST(seen.reports.front().selected == 11U);
  BOOST_TEST(seen.reports.back().selected == 17U);
}

BOOST_AUTO_TEST_CASE(a_run_that_cannot_begin_says_so) {
  auto s = with_nodes();
  *s.events = {at(1.0, event_kind::join, event_target::nodes, 0, 0)};
  const auto e = simulated(s);
  storage::memory_store store(e.parts.private_);
  const run_observer quiet{};
  const std::atomic<bool> never{false};
  const auto outcome = simulate(e, initial_state(e), store, quiet, never);
  BOOST_REQUIRE(!outcome);
  BOOST_TEST(outcome.error().text().find("11 of 17") != std::string::npos);
}

// Devices, dropout, availability and the events of clients, under all kinds of settings.
BOOST_AUTO_TEST_CASE(everything_adds_up_in_rough_worlds) {
  accounting sum;
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    auto s = random_settings(seed);
    s.topology->nodes = 1 + static_cast<std::uint32_t>(seed % 5);
    s.network->start = 0.1;
    s.network->task_timeout = 60;
    if (seed % 3 == 0) {
      s.events->push_back(at(0.8, event_kind::kill, event_target::nodes, 0, 0));
      s.events->push_back(at(2.8, event_kind::restart, event_target::nodes, 0, 0));
    }
    const auto e = simulated(s);
    const auto seen = run_serially(e);
    BOOST_TEST_CONTEXT("world " << seed) {
      const auto& counts = seen.trace.counts;
      BOOST_TEST(seen.reports.size() == s.rounds);
      BOOST_TEST(counts.selected == ends(counts) + counts.in_flight());
      sum.folded += counts.folded;
      sum.late += counts.late;
      sum.surplus += counts.surplus;
      for (std::size_t stage = 0; stage < drop_stage_count; ++stage) sum.dropped[stage] += counts.dropped[stage];
      if (seed % 20 == 0) check_same(seen.trace, run_serially(e).trace);
    }
  }
  BOOST_TEST(sum.folded > 1000U);
  BOOST_TEST(sum.late > 50U);
  BOOST_TEST(sum.surplus > 10U);
  for (const auto count : sum.dropped) BOOST_TEST(count > 50U);
}

BOOST_AUTO_TEST_CASE(a_run_goes_on_from_its_checkpoints) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack}) {
    auto s = with_nodes();
    s.own->commit = commit;
    *s.events = {at(0.4, event_kind::kill, event_target::aggregators, 1, 1),
                 at(0.8, event_kind::restart, event_target::aggregators, 1, 1)};
    const auto plain = expected(s);
    const auto seen = with_power_losses(simulated(s));
    BOOST_TEST(seen.trace.model == plain.trace.model);
    BOOST_TEST(seen.trace.own == plain.trace.own);
    BOOST_TEST(seen.reports.size() == s.rounds);
  }
}

BOOST_AUTO_TEST_CASE(clients_that_leave_are_erased) {
  auto s = with_nodes();
  *s.events = {at(1.5, event_kind::leave, event_target::clients, 0, 5)};
  (*s.events)[0].erase = true;
  const auto e = simulated(s);
  storage::memory_store store(e.parts.private_);
  recorder made;
  const std::atomic<bool> never{false};
  const auto observer = made.observer();
  auto outcome = simulate(e, initial_state(e), store, observer, never);
  BOOST_REQUIRE(outcome);
  std::size_t others = 0;
  BOOST_REQUIRE(store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters&) {
    BOOST_TEST(client > 5U);
    ++others;
  }));
  BOOST_TEST(others > 0U);
  made.finish(*outcome, store);
  const auto erased = [](const std::string& line) { return line.find(" erased ") != std::string::npos; };
  BOOST_TEST(std::ranges::count_if(made.trace.events, erased) == 1);
}

BOOST_AUTO_TEST_SUITE_END()
