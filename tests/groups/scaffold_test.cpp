// SCAFFOLD, an algorithm of another project (tests/install/fedalt): what follows from its definition.
#include "tests/install/fedalt/scaffold.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/algorithm.hpp"
#include "federated/settings.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "tests/support/worlds.hpp"

using namespace furlong;

namespace {

federated::run_settings settings_of(std::string_view kind) {
  if (federated::find_algorithm("scaffold") == nullptr) federated::register_algorithm(scaffold::entry());
  auto settings = tests::plain_settings();
  settings.rounds = 12;
  *settings.algorithm = federated::chosen_algorithm(kind);
  settings.aggregation->rule = federated::chosen_rule("uniform-mean");
  settings.own->commit = federated::commit_kind::after_ack;
  return settings;
}

federated::experiment made(const federated::run_settings& settings) {
  return tests::in_a_world(
      tests::make_experiment(settings, tests::make_ratings(41), {{"item_bias", true}, {"mean", true}}, {}));
}

struct ended {
  federated::run_outcome outcome;
  std::vector<double> sum_of_own;  ///< by value of the shared layout
  double longest = 0.0;            ///< of the values of c
};

ended run(const federated::experiment& e) {
  storage::memory_store store(e.parts.private_);
  const std::atomic<bool> stop = false;
  ended made{federated::simulate(e, federated::initial_state(e), store, {}, stop).value(), {}};
  made.sum_of_own.assign(e.parts.shared->size(), 0.0);
  BOOST_REQUIRE(store.visit([&](std::uint32_t, std::uint64_t, const models::private_parameters& value) {
    BOOST_REQUIRE(value.values().size() == made.sum_of_own.size());
    for (std::size_t i = 0; i < made.sum_of_own.size(); ++i) made.sum_of_own[i] += value.values()[i];
  }));
  for (const float c : made.outcome.state.added.values()) made.longest = std::max(made.longest, std::abs(double{c}));
  return made;
}

/// c is the mean of all c_i, but for rounding: of sums in fixed point, and of c in each round.
void check_mean(const federated::experiment& e, const ended& of) {
  const auto n = static_cast<double>(e.participants->training().size());
  const double bound = n * 0x1p-30 + static_cast<double>(e.settings.rounds) * 0x1p-22 * (1.0 + of.longest);
  const auto c = of.outcome.state.added.values();
  BOOST_TEST(of.longest > 0.01);
  for (std::size_t i = 0; i < c.size(); ++i) BOOST_TEST(std::abs(c[i] - of.sum_of_own[i] / n) < bound);
}

}  // namespace

BOOST_AUTO_TEST_SUITE(scaffold_algorithm)

BOOST_AUTO_TEST_CASE(the_first_round_is_fedavg_with_uniform_weights) {
  auto settings = settings_of("scaffold");
  settings.rounds = 1;
  const auto first = run(made(settings));
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  const auto plain = run(made(settings));
  BOOST_TEST(tests::same_bits(first.outcome.state.model.values(), plain.outcome.state.model.values()));
}

BOOST_AUTO_TEST_CASE(c_is_the_mean_of_all_control_variates) {
  const auto e = made(settings_of("scaffold"));
  const auto done = run(e);
  BOOST_TEST(done.outcome.state.counts.folded == 96U);
  check_mean(e, done);
}

// Lost, late and surplus updates: what a client trained counts on both sides, or on neither.
BOOST_AUTO_TEST_CASE(it_still_is_where_messages_are_lost) {
  auto settings = settings_of("scaffold");
  settings.rounds = 40;
  settings.participation->over_selection = 1.5;
  settings.participation->deadline = 3.0;
  *settings.dropout = {.download = 0.1, .train = 0.1, .upload = 0.3};
  settings.devices->speed_sigma = 1.0;
  const auto e = made(settings);
  const auto done = run(e);
  const auto& counts = done.outcome.state.counts;
  BOOST_TEST(counts.dropped[2] > 10U);
  BOOST_TEST(counts.surplus + counts.late > 5U);
  check_mean(e, done);
  // The same with values that are kept at the end of training: those of lost updates stay, and c knows nothing of them.
  settings.own->commit = federated::commit_kind::after_training;
  const auto wrong = made(settings);
  const auto drifted = run(wrong);
  double off = 0.0;
  const auto c = drifted.outcome.state.added.values();
  for (std::size_t i = 0; i < c.size(); ++i) off = std::max(off, std::abs(c[i] - drifted.sum_of_own[i] / 17.0));
  BOOST_TEST(off > 1e-3);
}

BOOST_AUTO_TEST_SUITE_END()
