// Simulated federations with secure aggregation: they end with the model of the plain run.
#include <boost/test/unit_test.hpp>

#include "federated/settings/devices.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "tests/federated/secure_worlds.hpp"

BOOST_AUTO_TEST_SUITE(secure_rounds)

using namespace furlong;
using namespace furlong::federated;
using namespace furlong::federated::testing;
using namespace furlong::tests;

namespace {

run_settings with_nodes() {
  auto s = uniform();
  s.rounds = 10;
  s.topology->nodes = 4;
  s.topology->aggregators = 2;
  s.checkpoint_every = 3;
  s.network->heartbeat = 2.0;
  s.network->timeout = 3.0;
  s.devices->mbit = 0.05;
  return s;
}

recorder without_nodes(run_settings s) {
  s.privacy->secure_aggregation = false;
  s.topology->nodes = 0;
  s.topology->aggregators = 1;
  s.events->clear();
  return run(s);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_federation_ends_with_the_model_of_the_plain_run) {
  for (const auto commit : {commit_kind::after_training, commit_kind::after_ack})
    for (const std::uint32_t aggregators : {1U, 2U, 5U}) {
      auto s = with_nodes();
      s.own->commit = commit;
      s.topology->aggregators = aggregators;
      s.topology->fan_in = aggregators == 5 ? 1 : 0;
      const auto plain = without_nodes(s);
      const auto seen = run(secured(s));
      BOOST_TEST(seen.trace.model == plain.trace.model);
      BOOST_TEST(seen.trace.own == plain.trace.own);
      BOOST_TEST(seen.trace.counts.folded == 10U * 8U);
      BOOST_TEST(seen.trace.counts.rounds_abandoned == 0U);
    }
}

BOOST_AUTO_TEST_CASE(aggregators_that_are_killed_change_nothing) {
  using enum event_kind;
  using enum event_target;
  const auto plain = without_nodes(with_nodes());
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
    const auto seen = run(secured(s));
    BOOST_TEST(seen.trace.model == plain.trace.model, "from " << when);
    BOOST_TEST(seen.trace.own == plain.trace.own, "from " << when);
    BOOST_TEST(total(seen.trace.counts.dropped) == 0U);
  }
}

/// Nodes lose their clients' secrets with their process: the round goes on without them, or is abandoned.
BOOST_AUTO_TEST_CASE(nodes_that_are_killed_lose_their_tasks_only) {
  using enum event_kind;
  using enum event_target;
  std::uint64_t folded = 0;
  std::uint64_t lost = 0;
  for (int i = 0; i < 24; ++i) {
    auto s = with_nodes();
    s.seed = 100 + static_cast<std::uint64_t>(i);
    const double when = 0.2 + 0.17 * i;
    const auto node = static_cast<std::uint32_t>(i % 4);
    *s.events = {at(when, kill, nodes, node, node), at(when + 0.5, restart, nodes, node, node)};
    const auto seen = run(secured(s));
    BOOST_TEST(seen.reports.size() == 10U);
    check_accounts(seen);
    folded += seen.trace.counts.folded;
    lost += total(seen.trace.counts.dropped) + seen.trace.counts.abandoned;
  }
  BOOST_TEST(folded > 24U * 50U);
  BOOST_TEST(lost > 10U);
}

/// Letters take time, so that other updates fill the buffers; every process is killed in between. Nothing of an
/// exchange that was abandoned gets into a later sum: the model stays near that of the plain run.
BOOST_AUTO_TEST_CASE(asynchronous_sums_of_a_federation) {
  using enum event_kind;
  using enum event_target;
  std::uint64_t abandoned = 0;
  for (int i = 0; i < 16; ++i) {
    auto s = with_nodes();
    s.participation->mode = participation_mode::async;
    s.participation->buffer = 5;
    s.participation->concurrency = 10;
    s.seed = 200 + static_cast<std::uint64_t>(i);
    s.privacy->clip = 0.5;
    const double when = 0.3 + 0.21 * i;
    if (i > 0) {
      const auto node = static_cast<std::uint32_t>(i % 4);
      *s.events = {at(when, kill, nodes, node, node),       at(when + 0.5, restart, nodes, node, node),
                   at(when + 1.0, kill, aggregators, 0, 0), at(when + 1.6, restart, aggregators, 0, 0),
                   at(when + 2.2, partition, nodes, 0, 0),  at(when + 5.0, heal, nodes, 0, 0)};
    }
    const auto seen = run(secured(s));
    BOOST_TEST(seen.reports.size() == 10U);
    check_accounts(seen);
    // Words of another exchange would be random numbers of 64 bits.
    for (const auto& report : seen.reports) BOOST_TEST((report.gave_up || report.change_norm <= 0.5 * 1.001));
    if (i == 0) {
      BOOST_TEST(seen.trace.counts.folded == 10U * 5U);
      BOOST_TEST(seen.trace.counts.rounds_abandoned == 0U);
    }
    abandoned += seen.trace.counts.rounds_abandoned;
  }
  BOOST_TEST(abandoned < 16U * 5U);
}

BOOST_AUTO_TEST_SUITE_END()
