// What an account takes for granted of the mechanism, where an audit would not notice its absence.
#include "federated/aggregation/accumulator.hpp"
#include "federated/audit/canaries.hpp"
#include "federated/client/client_work.hpp"
#include "federated/participation/policy.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/worlds.hpp"

BOOST_AUTO_TEST_SUITE(accounted_mechanism)

using namespace furlong;
using namespace furlong::federated;

namespace {

run_settings noisy_settings() {
  auto settings = tests::plain_settings();
  *settings.algorithm = chosen_algorithm("fedavg");
  settings.aggregation->rule = chosen_rule("uniform-mean");
  *settings.privacy = {.clip = 0.5, .noise = 1.2};
  return settings;
}

experiment experiment_of(const run_settings& settings, std::uint32_t items) {
  tests::ratings_shape shape;
  shape.items = items;
  return tests::make_experiment(settings, tests::make_ratings(9, shape), {{"item_bias", true}, {"mean", true}}, {});
}

/// What a round of eight updates of nothing adds to the model.
std::vector<float> noise_of_round(const experiment& e, std::uint64_t version) {
  auto state = initial_state(e);
  for (auto& value : state.model.values()) value = 0.0F;
  state.version = version;
  server_optimizer optimizer(*e.settings.server, e.parts.shared);
  aggregate round;
  round.change = models::shared_parameters(e.parts.shared);
  round.count = 8;
  round_report report;
  close_round(e, state, optimizer, round, report, round_facts(e));
  return {state.model.values().begin(), state.model.values().end()};
}

double mean_product(std::span<const float> a, std::span<const float> b) {
  double sum = 0.0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += static_cast<double>(a[i]) * b[i];
  return sum / static_cast<double>(a.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_round_has_the_whole_noise_and_its_own) {
  const auto e = experiment_of(noisy_settings(), 4000);
  std::vector<std::vector<float>> rounds;
  for (std::uint64_t version = 0; version < 8; ++version) rounds.push_back(noise_of_round(e, version));
  const double variance = std::pow(1.2 * 0.5 / 8, 2);
  const auto n = static_cast<double>(rounds.front().size());
  for (std::size_t a = 0; a < rounds.size(); ++a) {
    BOOST_TEST(std::abs(mean_product(rounds[a], rounds[a]) / variance - 1) < 5 * std::sqrt(2 / n));
    for (std::size_t b = 0; b < a; ++b)
      BOOST_TEST(std::abs(mean_product(rounds[a], rounds[b])) < 5 * variance / std::sqrt(n));
    // Nor does a value have that of its neighbour.
    const std::span<const float> all(rounds[a]);
    BOOST_TEST(std::abs(mean_product(all.first(all.size() - 1), all.subspan(1))) < 5 * variance / std::sqrt(n));
  }
}

BOOST_AUTO_TEST_CASE(clipping_shortens_every_tensor_by_the_same_factor) {
  auto settings = noisy_settings();
  const auto sent = [&](double clip) {
    settings.privacy->clip = clip;
    const auto e = experiment_of(settings, 30);
    const broadcast from{e.run, 0, initial_model(e), {}};
    workspace use;
    client_update update;
    client_work(e, from, {e.run, 0, 9, 0}, false, use, update);
    BOOST_TEST(e.parts.shared->count() == 4U);
    std::vector<double> norms;
    for (std::size_t t = 0; t < e.parts.shared->count(); ++t) {
      const auto values = update.change.values_of(t);
      norms.push_back(std::sqrt(mean_product(values, values) * static_cast<double>(values.size())));
    }
    return norms;
  };
  const auto whole = sent(1e6);
  const auto clipped = sent(1e-3);
  double squares = 0.0;
  for (std::size_t t = 0; t < whole.size(); ++t) {
    BOOST_TEST(whole[t] > 1e-3);
    BOOST_TEST(std::abs(clipped[t] / whole[t] - clipped[0] / whole[0]) < 1e-4 * clipped[0] / whole[0]);
    squares += clipped[t] * clipped[t];
  }
  BOOST_TEST(std::abs(std::sqrt(squares) / 1e-3 - 1) < 1e-4);
}

// Of 2,000 clients with rate 0.1: mean 200, variance 180. A cohort of fixed size has none.
BOOST_AUTO_TEST_CASE(cohorts_of_coins_vary_as_coins_do) {
  auto settings = noisy_settings();
  settings.participation->policy = chosen_policy("poisson");
  settings.participation->rate = 0.1;
  settings.participation->per_round = settings.participation->cap = 2000;
  const auto e = tests::in_a_world(tests::make_experiment(
      settings,
      tests::make_ratings(
          3, {.clients = 2000, .unseen_validation = 0, .unseen_test = 0, .fewest = 1, .most = 1, .empty = 0}),
      {}, {}));
  participation_ledger ledger(2000);
  const auto policy = make_policy(e, ledger);
  constexpr int rounds = 2000;
  double sum = 0.0;
  double squares = 0.0;
  for (int round = 0; round < rounds; ++round) {
    selection of;
    of.count = 2000;
    of.round = static_cast<std::uint64_t>(round);
    of.eligible = [](std::uint32_t) { return true; };
    const auto size = static_cast<double>(policy->choose(of, ledger).size());
    sum += size;
    squares += size * size;
  }
  const double mean = sum / rounds;
  BOOST_TEST(std::abs(mean - 200) < 5 * std::sqrt(180.0 / rounds));
  BOOST_TEST(std::abs(squares / rounds - mean * mean - 180) < 5 * 180 * std::sqrt(2.0 / rounds));
}

BOOST_AUTO_TEST_CASE(updates_move_the_mean_alike_whatever_their_weights) {
  const auto e = experiment_of(noisy_settings(), 30);
  const auto sum = make_accumulator(e, initial_state(e).reference);
  double expected = 0.0;
  for (std::uint32_t client = 1; client <= 4; ++client) {
    client_update update;
    update.id.client = client;
    update.weight = 10 * client * client;
    update.change.shape = e.parts.up;
    for (const auto& spec : e.parts.up->tensors()) {
      update.change.pieces.push_back({false, 0, 0, update.change.values.size()});
      update.change.values.resize(update.change.values.size() + spec.size(), 0.125F * static_cast<float>(client));
    }
    expected += 0.125 * client / 4;
    BOOST_TEST(!sum->fold(update).has_value());
  }
  const auto round = sum->report();
  for (const double value : round.change.values()) BOOST_TEST(std::abs(value - expected) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
