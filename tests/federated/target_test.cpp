// evaluation.target: when it is first reached, and a run that ends there.
#include <cmath>

#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(targets)

using namespace furlong;
using namespace furlong::federated;

namespace {

/// Tells accuracies of versions 1, 2, ..., ten microseconds apart.
server_state told(const target_settings& target, const std::vector<double>& accuracies) {
  run_settings settings;
  settings.evaluation->target = target;
  const auto e = tests::make_experiment(settings, tests::make_ratings(41), {}, {});
  auto state = initial_state(e);
  for (const double accuracy : accuracies) {
    ++state.version;
    state.now += 10;
    evaluation_report report;
    report.unseen.emplace();
    report.unseen->accuracy = accuracy;
    note_evaluation(e, state, report);
  }
  return state;
}

run_settings evaluated_often() {
  auto settings = tests::plain_settings();
  settings.rounds = 8;
  settings.evaluation->every = 1;
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  *settings.client = {.lr = 0.1F, .epochs = 4, .batch_size = 4};
  return settings;
}

/// The loss of the seen clients after each round.
std::vector<double> losses(const experiment& e) {
  std::vector<double> all;
  storage::memory_store store(e.parts.private_);
  const run_observer observer{nullptr, [&](const evaluation_report& report) {
                                all.push_back(report.seen.value().loss);
                                return result<void>{};
                              }};
  BOOST_REQUIRE(run_reference(e, store, observer));
  return all;
}

/// Of a run that goes on from a state.
server_state end_of(const experiment& e, server_state start) {
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  const run_observer quiet{};
  auto outcome = simulate(e, std::move(start), store, quiet, stop).value();
  BOOST_TEST(!outcome.interrupted);
  return std::move(outcome.state);
}

server_state end_of(const experiment& e, bool in_virtual_time) {
  if (in_virtual_time) return end_of(e, initial_state(e));
  storage::memory_store store(e.parts.private_);
  return run_reference(e, store, {}).value().state;
}

}  // namespace

BOOST_AUTO_TEST_CASE(note_evaluation_remembers_the_first_time_a_target_is_reached) {
  for (const bool at_most : {true, false}) {
    const target_settings target{"unseen.accuracy", 0.6, at_most};
    const auto below = told(target, {0.9, 0.5, 0.8, 0.4});
    BOOST_TEST(below.target_version == (at_most ? 2U : 1U));
    BOOST_TEST(below.target_reached.value() == (at_most ? 20 : 10));
    const auto above = told(target, {0.1, 0.5, 0.8, 0.9, 0.4});
    BOOST_TEST(above.target_version == (at_most ? 1U : 3U));
    BOOST_TEST(above.target_reached.value() == (at_most ? 10 : 30));
    const auto exactly = told(target, {NAN, at_most ? 0.7 : 0.5, 0.6});
    BOOST_TEST(exactly.target_version == 3U);
    BOOST_TEST(!told(target, {at_most ? 0.7 : 0.5}).target_reached);
  }
  BOOST_TEST(!told({"seen.accuracy", 0.6, true}, {0.5}).target_reached);  // nobody was scored
  BOOST_TEST(!told({}, {0.5}).target_reached);
}

BOOST_AUTO_TEST_CASE(a_run_until_a_target_ends_there) {
  auto settings = evaluated_often();
  const auto seen = losses(tests::simulated(settings));
  BOOST_REQUIRE(seen.size() == 8U);
  constexpr std::uint64_t end = 4;
  for (std::uint64_t version = 1; version < end; ++version) BOOST_REQUIRE(seen[version - 1] > seen[end - 1]);
  settings.evaluation->target = {"seen.loss", seen[end - 1], true};
  for (const bool until : {true, false})
    for (const bool in_virtual_time : {true, false}) {
      settings.until->target = until;
      const auto state = end_of(tests::simulated(settings), in_virtual_time);
      BOOST_TEST(state.version == (until ? end : 8U));
      BOOST_TEST(state.target_version == end);
      BOOST_TEST(state.target_reached.has_value());
    }
}

BOOST_AUTO_TEST_CASE(a_run_that_is_resumed_with_another_target_goes_on_to_that) {
  auto settings = evaluated_often();
  const auto seen = losses(tests::simulated(settings));
  BOOST_REQUIRE(seen[3] < seen[2]);
  settings.until->target = true;
  settings.evaluation->target = {"seen.loss", seen[0], true};
  const auto reached = end_of(tests::simulated(settings), true);
  BOOST_REQUIRE(reached.version == 1U);
  const auto resumed = [&](const run_settings& other) {
    auto start = reached;
    start.ledger = std::make_shared<participation_ledger>(*reached.ledger);
    return end_of(tests::simulated(other), std::move(start));
  };
  BOOST_TEST(resumed(settings).version == 1U);
  BOOST_TEST((resumed(settings).target_reached == reached.target_reached));

  auto tighter = settings;
  tighter.evaluation->target.value = seen[3];
  const auto more = resumed(tighter);
  BOOST_TEST(more.version == 4U);
  BOOST_TEST(more.target_version == 4U);
  BOOST_TEST(more.target_reached.value() > reached.target_reached.value());

  auto elsewhere = settings;
  elsewhere.evaluation->target = {"seen.loss", 1e9, false};
  auto unlike = settings;
  unlike.evaluation->target = {"seen.rmse", -1.0, true};
  for (const auto& other : {elsewhere, unlike}) {
    const auto state = resumed(other);
    BOOST_TEST(state.version == 8U);
    BOOST_TEST(!state.target_reached);
  }
  // The same figure of other clients says nothing of it either.
  auto fewer = settings;
  fewer.evaluation->clients = 3;
  BOOST_TEST(resumed(fewer).version > 1U);
}

BOOST_AUTO_TEST_SUITE_END()
