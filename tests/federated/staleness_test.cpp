// How much an update counts that started from an old model, and when it counts for nothing.
#include "federated/experiment/staleness.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/protocol/aggregator_machine.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(staleness)

using namespace furlong;
using federated::rejection;
using federated::staleness_kind;
using federated::staleness_weight;
using namespace federated::protocol;

namespace {

/// What an aggregator says to an update that started `staleness` versions before the newest model.
std::optional<rejection> verdict_on(std::uint64_t staleness, std::uint32_t most) {
  federated::run_settings settings;
  settings.participation->mode = federated::participation_mode::async;
  settings.participation->max_staleness = most;
  const auto e = tests::make_experiment(settings, tests::make_ratings(12), {}, {});
  aggregator_machine machine(e, 0);
  machine.set_known_examples({});
  random_stream stream(1, purpose::test);
  auto update = tests::random_update(stream, e.parts.shared);
  update.id = {e.run, 9 - staleness, 3, 0};
  machine.restore({.id = update.id}, {});
  aggregator_effects out;
  machine.on_assignment(
      std::make_shared<federated::broadcast>(federated::broadcast{e.run, 9, federated::initial_model(e), {}}), {}, true,
      out);
  const auto refused = machine.on_update(update, out);
  const auto& told = std::get<settled>(out.at(0)).each.at(0);
  BOOST_TEST((told.what == federated::outcome::rejected) == refused.has_value());
  return refused;
}

}  // namespace

// Xie, Koyejo, Gupta 2019, section 5.2.
BOOST_AUTO_TEST_CASE(staleness_weights_are_their_definitions) {
  federated::participation_settings of;
  of.weighting = staleness_kind::polynomial;
  of.staleness_exponent = 0.5;
  const double roots[] = {1.0, 0.70710678, 0.57735027, 0.5};
  for (std::uint64_t tau = 0; tau < 4; ++tau) BOOST_TEST(std::abs(staleness_weight(of, tau) - roots[tau]) < 1e-8);
  of.staleness_exponent = 2.0;
  BOOST_TEST(std::abs(staleness_weight(of, 3) - 1.0 / 16) < 1e-12);
  of.weighting = staleness_kind::hinge;
  of.hinge_slope = 10.0;
  of.hinge_from = 4;
  for (const std::uint64_t tau : {0U, 1U, 4U}) BOOST_TEST(staleness_weight(of, tau) == 1.0);
  BOOST_TEST(std::abs(staleness_weight(of, 5) - 1.0 / 11) < 1e-12);
  BOOST_TEST(std::abs(staleness_weight(of, 6) - 1.0 / 21) < 1e-12);
  of.weighting = staleness_kind::constant;
  for (const std::uint64_t tau : {0U, 1U, 5U, 1000U}) BOOST_TEST(staleness_weight(of, tau) == 1.0);
}

BOOST_AUTO_TEST_CASE(an_update_as_stale_as_is_allowed_is_folded_and_a_staler_one_refused) {
  for (const std::uint64_t staleness : {0U, 1U, 2U}) BOOST_TEST(!verdict_on(staleness, 2));
  BOOST_TEST((verdict_on(3, 2) == rejection::stale_version));
  BOOST_TEST(!verdict_on(9, 0));  // no bound
}

BOOST_AUTO_TEST_SUITE_END()
