// The protocol under fire: hundreds of federations of processes that are killed, cut off and started again, and what
// must hold in every one of them.
#include "tests/support/network.hpp"

#include <boost/test/unit_test.hpp>
#include <cstdlib>
#include <numeric>

#include "base/digest.hpp"
#include "federated/settings/participation.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "models/digest.hpp"
#include "storage/memory_store.hpp"

BOOST_AUTO_TEST_SUITE(networks)

using namespace furlong;
using namespace furlong::tests::net;

namespace {

void check(std::uint64_t seed, const ending& seen) {
  BOOST_TEST_CONTEXT("world " << seed) {
    for (const auto& what : seen.failures) BOOST_ERROR(what);
    BOOST_TEST(seen.ended > 0);
  }
}

/// Synchronous, and every report is waited for: then nothing but the cohorts decides about the model.
plan patient(std::uint64_t seed) {
  auto what = without_faults(random_plan(seed));
  auto& how = *what.settings.participation;
  how.mode = federated::participation_mode::sync;
  how.per_round = 2 + static_cast<std::uint32_t>(seed % 11);
  how.over_selection = 1.0;
  how.deadline = how.selection_timeout = 0.0;
  how.min_reports = 1;
  // The reference loop keeps what was trained at once. Here clients may wait until it is in a model, which is before
  // they are asked again, whenever checkpoints are made.
  if (seed % 3 == 0) what.settings.checkpoint_every = 0;
  return what;
}

}  // namespace

// Server values are sums of what clients keep: also after kills of nodes and servers.
BOOST_AUTO_TEST_CASE(exact_state_survives_whatever_happens) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) check(seed, run_world(with_exact_state(random_plan(seed))));
}

// A client's task was in the model without a checkpoint when the client began its next: the server resumed from before
// both, and a kill took what the node had in memory.
BOOST_AUTO_TEST_CASE(a_second_pending_value_does_not_displace_one_that_a_resumed_server_asks_for) {
  constexpr std::uint64_t seed = 81510;
  check(seed, run_world(exploring_plan(seed)));
}

// Accounting, exactness, no update twice, none lost that was acknowledged, an end, private values that fit the model:
// run_world() looks after each of them in each of the worlds.
BOOST_AUTO_TEST_CASE(every_world_keeps_its_promises) {
  federated::accounting sum;
  std::size_t resumed = 0;
  std::size_t rejected = 0;
  std::size_t dropped = 0;
  std::size_t sent_on = 0;
  std::size_t tasks_lost = 0;
  bool mixed_many = false;
  const char* asked = std::getenv("FURLONG_WORLDS");
  const std::uint64_t worlds = asked == nullptr ? 3000 : std::strtoull(asked, nullptr, 10);
  for (std::uint64_t seed = 1; seed <= worlds; ++seed) {
    const auto what = random_plan(seed);
    const auto seen = run_world(what);
    check(seed, seen);
    BOOST_TEST(seen.version == what.settings.rounds);
    sum.folded += seen.counts.folded;
    sum.late += seen.counts.late;
    sum.surplus += seen.counts.surplus;
    sum.abandoned += seen.counts.abandoned;
    dropped += std::reduce(seen.counts.dropped.begin(), seen.counts.dropped.end());
    rejected += std::reduce(seen.counts.rejected.begin(), seen.counts.rejected.end());
    resumed += seen.history.life();
    sent_on += seen.sent_on;
    tasks_lost += seen.tasks_lost;
    mixed_many = mixed_many || seen.mixed_many;
  }
  // The worlds are rough enough to mean something.
  BOOST_TEST(sum.folded > 10 * worlds / 3);
  BOOST_TEST(sum.late > worlds / 30);
  BOOST_TEST(sum.surplus > worlds / 30);
  BOOST_TEST(sum.abandoned > worlds / 60);
  BOOST_TEST(dropped > worlds / 6);
  BOOST_TEST(rejected > worlds / 3);
  BOOST_TEST(resumed > worlds / 60);
  BOOST_TEST(sent_on > worlds / 3);
  BOOST_TEST(tasks_lost > worlds / 30);
  BOOST_TEST(mixed_many);
}

BOOST_AUTO_TEST_CASE(without_faults_any_number_of_processes_makes_the_model_of_the_reference_loop) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto what = patient(seed);
    const auto seen = run_world(what);
    check(seed, seen);
    const auto e = experiment_of(what);
    storage::memory_store store(e.parts.private_);
    const federated::run_observer quiet{};
    const auto expected = federated::run_reference(e, store, quiet).value();
    BOOST_TEST(seen.model == hex(models::model_sha256(expected.state.model)), "world " << seed);
  }
}

BOOST_AUTO_TEST_CASE(the_same_world_twice_is_the_same_world) {
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    const auto what = random_plan(seed);
    const auto once = run_world(what);
    const auto again = run_world(what);
    BOOST_TEST(once.steps == again.steps);
    BOOST_TEST(once.trace == again.trace, "world " << seed);
  }
}

// Nothing waits longer than the network's patience, a node's slowest task, and the pauses between tries.
BOOST_AUTO_TEST_CASE(a_world_recovers_soon_after_its_last_fault) {
  for (std::uint64_t seed = 3001; seed <= 3300; ++seed) {
    const auto what = random_plan(seed);
    check(seed, run_world(what, federated::from_seconds(600)));
  }
}

BOOST_AUTO_TEST_SUITE_END()
