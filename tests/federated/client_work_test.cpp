#include "federated/client/client_work.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "federated/experiment/validation.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/algorithm_kinds.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(client_works)

using namespace furlong;
using tests::same_bits;

namespace {

const auto clients = tests::make_ratings(8);

/// One client's work on the first model.
struct outcome {
  federated::client_update update;
  federated::workspace use;
  bool to_store = false;

  outcome(const federated::experiment& e, std::uint32_t client, std::uint64_t version = 0,
          const models::private_parameters* own = nullptr) {
    const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
    if (own != nullptr) use.own = *own;
    to_store = federated::client_work(e, from, {e.run, version, client, 0}, own != nullptr, use, update);
  }
};

federated::run_settings plain(std::string_view kind) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind);
  *settings.client = {.lr = 0.2F, .epochs = 2, .batch_size = 3};
  return settings;
}

std::uint32_t examples_of(std::uint32_t client) {
  return static_cast<std::uint32_t>(clients->tables[client].train.labels.size());
}

double norm(const models::delta& change) {
  double squares = 0.0;
  for (const double value : change.values) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

BOOST_AUTO_TEST_CASE(one_client_one_full_batch_and_one_epoch_is_a_centralised_step) {
  auto settings = plain("fedavg");
  *settings.client = {.lr = 0.2F, .epochs = 1, .batch_size = 0};
  const auto e = tests::make_experiment(settings, clients, {}, {});
  const auto model = federated::initial_model(e);
  const outcome fedavg(e, 9);

  models::working_set central;
  const models::private_parameters none(e.parts.private_);
  central.gather(*e.model, e.parts, model, none, clients->tables[9].train.view(), 9);
  central.train_only(e.parts.all_tensors);
  const double loss = central.step(central.data(), {.rate = 0.2F});
  models::delta step;
  central.difference(model, step);
  BOOST_TEST(same_bits(fedavg.update.change.values, step.values));
  BOOST_TEST(fedavg.update.loss_sum == loss);
  BOOST_TEST(fedavg.update.weight == examples_of(9));
}

BOOST_AUTO_TEST_CASE(fedsgd_is_fedavg_of_one_full_batch_whatever_else_is_set) {
  const outcome fedsgd(tests::make_experiment(plain("fedsgd"), clients, {}, {}), 9);
  auto settings = plain("fedavg");
  *settings.client = {.lr = 0.2F, .epochs = 1, .batch_size = 0};
  const outcome fedavg(tests::make_experiment(settings, clients, {}, {}), 9);
  BOOST_TEST(same_bits(fedsgd.update.change.values, fedavg.update.change.values));
  BOOST_TEST(fedsgd.update.weight == fedavg.update.weight);
}

BOOST_AUTO_TEST_CASE(epochs_and_the_step_cap_count_the_examples_processed) {
  for (const bool shuffle : {false, true}) {
    auto settings = plain("fedavg");
    settings.client->shuffle = shuffle;
    settings.client->epochs = 3;
    BOOST_TEST(outcome(tests::make_experiment(settings, clients, {}, {}), 9).update.weight == 3 * examples_of(9));
    settings.client->batch_size = 1;
    for (const std::uint32_t cap : {1U, examples_of(9), examples_of(9) + 1, 3 * examples_of(9) - 1}) {
      settings.client->max_steps = cap;
      const outcome capped(tests::make_experiment(settings, clients, {}, {}), 9);
      BOOST_TEST(capped.update.weight == cap);
      BOOST_TEST(capped.update.examples == cap);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_linear_schedule_shrinks_the_step_with_the_rounds) {
  for (const std::string_view kind : {"fedsgd", "fedavg", "furl"}) {
    auto settings = plain(kind);
    settings.rounds = 8;
    settings.client->lr = 0.25F;
    settings.client->schedule = federated::schedule_kind::linear;
    auto fixed = settings;
    fixed.client->schedule = federated::schedule_kind::constant;
    for (const std::uint64_t version : {0U, 2U, 7U}) {
      fixed.client->lr = 0.25F * (1.0F - static_cast<float>(version) / 8.0F);
      const outcome linear(tests::make_experiment(settings, clients, {}, {"user"}), 9, version);
      const outcome constant(tests::make_experiment(fixed, clients, {}, {"user"}), 9, version);
      BOOST_TEST(same_bits(linear.update.change.values, constant.update.change.values));
    }
  }
}

BOOST_AUTO_TEST_CASE(a_client_without_examples_reports_nothing_and_stores_nothing) {
  for (const auto& kind : tests::algorithm_kinds())
    for (const auto solver : {federated::solver_kind::sgd, federated::solver_kind::least_squares}) {
      auto settings = plain(kind);
      if (!settings.algorithm->traits.sends) continue;
      settings.reconstruction->solver = solver;
      const auto e = tests::make_experiment(settings, clients, {{"mean", true}}, {"user"});
      const outcome empty(e, 0);
      BOOST_TEST(!empty.to_store);
      BOOST_TEST(empty.update.weight == 0U);
      for (const auto value : models::to_dense(empty.update.change).values) BOOST_TEST(value == 0.0F);
    }
}

BOOST_AUTO_TEST_CASE(weights_that_cease_to_be_finite_leave_no_trace) {
  for (const std::string_view kind : {"fedavg", "furl", "fedrecon", "fedrep", "fedalt", "fedbabu", "ditto", "apfl"}) {
    auto settings = plain(kind);
    settings.client->lr = 1e30F;
    settings.client->epochs = 30;
    const auto e = tests::make_experiment(settings, clients, {{"mean", true}}, {"user"});
    models::private_parameters before(e.parts.private_);
    for (auto& value : before.values()) value = 0.125F;
    const bool stateful = settings.algorithm->traits.keeps_state;
    const outcome diverged(e, 9, 0, stateful ? &before : nullptr);
    BOOST_TEST(!diverged.to_store);
    BOOST_TEST(diverged.update.weight == 0U);
    BOOST_TEST((federated::validate(diverged.update, *e.parts.shared, *settings.aggregation) ==
                federated::rejection::not_finite));
    for (const auto value : models::to_dense(diverged.update.change).values) BOOST_TEST(value == 0.0F);
    if (stateful) BOOST_TEST(same_bits(diverged.use.own.values(), before.values()));
  }
}

BOOST_AUTO_TEST_CASE(furl_starts_from_what_is_stored_or_from_the_clients_own_draw) {
  const auto e = tests::make_experiment(plain("furl"), clients, {}, {"user"});
  models::private_parameters drawn(e.parts.private_);
  federated::initial_private(e, 0, 9, drawn);
  const outcome first(e, 9, 7);  // whatever the round
  const outcome same(e, 9, 7, &drawn);
  BOOST_TEST(first.to_store);
  BOOST_TEST(same_bits(first.use.own.values(), same.use.own.values()));
  BOOST_TEST(same_bits(first.update.change.values, same.update.change.values));
  const outcome next(e, 9, 7, &first.use.own);
  BOOST_TEST(!same_bits(next.use.own.values(), first.use.own.values()));
  BOOST_TEST((*e.parts.private_ == models::layout({{"user", 1, 4}})));
  BOOST_TEST((*first.update.change.shape == *e.parts.shared));  // and nothing of the user's is in it
}

BOOST_AUTO_TEST_CASE(furl_can_reconstruct_a_cold_client_first) {
  auto settings = plain("furl");
  settings.own->cold_start = federated::cold_start_kind::reconstruct;
  *settings.reconstruction = {.lr = 0.3F, .epochs = 4};
  const auto e = tests::make_experiment(settings, clients, {}, {"user"});
  // By hand: reconstruct from the own draw on all examples, then train from there.
  const auto model = federated::initial_model(e);
  federated::workspace use;
  use.own = models::private_parameters(e.parts.private_);
  federated::initial_private(e, 0, 9, use.own);
  use.weights.gather(*e.model, e.parts, model, use.own, clients->tables[9].train.view(), 9);
  federated::cut_batches(0, examples_of(9), 3, use.batches);
  federated::reconstruct(*e.model, use.weights, e.parts.private_tensors, use.batches, *settings.reconstruction,
                         use.solver);
  use.weights.copy_private(use.own);
  auto warm = e;
  warm.settings = plain("furl");
  const outcome expected(warm, 9, 0, &use.own);
  const outcome cold(e, 9);
  BOOST_TEST(same_bits(cold.use.own.values(), expected.use.own.values()));
  BOOST_TEST(same_bits(cold.update.change.values, expected.update.change.values));
  BOOST_TEST(cold.update.weight == expected.update.weight);
  BOOST_TEST(cold.update.examples == expected.update.examples + 4 * examples_of(9));
  // One that has a value trains from it as ever.
  BOOST_TEST(same_bits(outcome(e, 9, 0, &use.own).use.own.values(), expected.use.own.values()));
}

BOOST_AUTO_TEST_CASE(a_private_tensor_by_feature_keeps_the_rows_that_are_not_named) {
  const auto e = tests::make_experiment(plain("furl"), clients, {{"item_bias", true}}, {"user", "item_bias"});
  models::private_parameters before(e.parts.private_);
  for (std::size_t i = 0; i < before.values().size(); ++i) before.values()[i] = 0.01F * static_cast<float>(i);
  const outcome trained(e, 9, 0, &before);
  BOOST_REQUIRE(trained.to_store);
  const auto& named = clients->tables[9].train.features;
  for (std::uint32_t item = 0; item < clients->what.features; ++item) {
    const bool moved = trained.use.own.tensor(1)[item] != before.tensor(1)[item];
    BOOST_TEST(moved == (std::ranges::find(named, item) != named.end()));
  }
}

BOOST_AUTO_TEST_CASE(a_proximal_term_pulls_towards_the_start) {
  double last = 1e300;
  for (const float mu : {0.0F, 0.5F, 2.0F, 4.0F}) {
    auto settings = plain("fedavg");
    settings.client->epochs = 10;
    settings.client->proximal = mu;
    const double moved = norm(outcome(tests::make_experiment(settings, clients, {}, {}), 9).update.change);
    BOOST_TEST(moved < last);
    last = moved;
  }
}

BOOST_AUTO_TEST_CASE(clipping_scales_the_whole_update_to_its_bound_and_leaves_smaller_ones) {
  auto settings = plain("fedavg");
  const outcome free(tests::make_experiment(settings, clients, {}, {}), 9);
  const double size = norm(free.update.change);
  settings.privacy->clip = size / 3;
  const outcome clipped(tests::make_experiment(settings, clients, {}, {}), 9);
  BOOST_TEST(std::abs(norm(clipped.update.change) - size / 3) < 1e-6 * size);
  for (std::size_t i = 0; i < free.update.change.values.size(); ++i)
    BOOST_TEST(std::abs(clipped.update.change.values[i] - free.update.change.values[i] / 3) < 1e-6 * size);
  settings.privacy->clip = size * 1.001;
  const outcome wide(tests::make_experiment(settings, clients, {}, {}), 9);
  BOOST_TEST(same_bits(wide.update.change.values, free.update.change.values));
}

// The server's bound on a whole update leaves room for what clipping rounds, and for nothing else.
BOOST_AUTO_TEST_CASE(a_clipped_update_is_within_the_servers_bound_and_a_longer_one_is_not) {
  random_stream stream(1, purpose::test);
  for (std::uint32_t trial = 0; trial < 60; ++trial) {
    auto settings = plain(trial % 2 == 0 ? "fedavg" : "fedsgd");
    settings.seed = trial;
    settings.privacy->clip = std::pow(10.0, static_cast<double>(stream.uniform(-9.0F, -2.0F)));
    const auto e = tests::make_experiment(settings, clients, {}, {});
    const auto verdict = [&](const federated::client_update& update) {
      return federated::validate(update, *e.parts.shared, *settings.aggregation, {federated::longest_update(settings)});
    };
    outcome clipped(e, 9, trial);
    BOOST_TEST(norm(clipped.update.change) > settings.privacy->clip * 0.999);
    BOOST_TEST(!verdict(clipped.update));
    for (auto& value : clipped.update.change.values) value *= 1.00001F;
    BOOST_TEST((verdict(clipped.update) == federated::rejection::norm_bound));
  }
}

BOOST_AUTO_TEST_CASE(what_clients_add_after_clipping_is_not_bounded_by_it) {
  auto settings = plain("fedavg");
  settings.privacy->clip = 0.01;
  settings.aggregation->noise = 1.0;
  const auto verdict = [&] {
    const auto e = tests::make_experiment(settings, clients, {}, {});
    return federated::validate(outcome(e, 9).update, *e.parts.shared, *settings.aggregation,
                               {federated::longest_update(settings)});
  };
  BOOST_TEST(!verdict());
  settings.aggregation->noise_at = federated::noise_place::server;
  BOOST_TEST(!verdict());
  BOOST_TEST(std::isfinite(federated::longest_update(settings)));
}

void check_noise(std::string_view rule) {
  auto shape = tests::ratings_shape{};
  shape.items = 4000;
  const auto many = tests::make_ratings(9, shape);
  auto settings = plain("fedavg");
  settings.aggregation->rule = federated::chosen_rule(rule);
  const outcome quiet(tests::make_experiment(settings, many, {}, {}), 9, 2);
  settings.aggregation->noise = 0.01;
  const auto e = tests::make_experiment(settings, many, {}, {});
  const outcome noisy(e, 9, 2);
  const auto before = models::to_dense(quiet.update.change);
  BOOST_REQUIRE(noisy.update.change.values.size() == before.values.size());  // dense
  double sum = 0.0;
  double squares = 0.0;
  for (std::size_t i = 0; i < before.values.size(); ++i) {
    const double noise = noisy.update.change.values[i] - before.values[i];
    sum += noise;
    squares += noise * noise;
  }
  const auto n = static_cast<double>(before.values.size());
  BOOST_TEST(std::abs(sum / n) < 5 * 0.01 / std::sqrt(n));
  BOOST_TEST(std::abs(squares / n / 1e-4 - 1) < 5 * std::sqrt(2 / n));
  BOOST_TEST(same_bits(noisy.update.change.values, outcome(e, 9, 2).update.change.values));
  BOOST_TEST(!same_bits(noisy.update.change.values, outcome(e, 9, 3).update.change.values));
  settings.aggregation->noise_at = federated::noise_place::server;
  const outcome at_server(tests::make_experiment(settings, many, {}, {}), 9, 2);
  BOOST_TEST(same_bits(at_server.update.change.values, quiet.update.change.values));
}

BOOST_AUTO_TEST_CASE(noise_is_normal_on_every_element_and_keyed) {
  check_noise("mean");
  check_noise("fedatt");
}

// Equal noise would not average out, and a client that knows its own would know everybody's.
BOOST_AUTO_TEST_CASE(every_client_draws_its_own_noise) {
  auto settings = plain("fedavg");
  settings.client->lr = 0.0F;  // nothing but noise
  settings.aggregation->noise = 0.5;
  const auto e = tests::make_experiment(settings, clients, {}, {});
  const auto values = [](const outcome& of) {
    return std::vector<double>(of.update.change.values.begin(), of.update.change.values.end());
  };
  const auto a = values(outcome(e, 9));
  const auto b = values(outcome(e, 10));
  BOOST_REQUIRE(a.size() == b.size());
  const auto correlation =
      std::inner_product(a.begin(), a.end(), b.begin(), 0.0) / 0.25 / static_cast<double>(a.size());
  BOOST_TEST(std::abs(correlation) < 5 / std::sqrt(static_cast<double>(a.size())));
}

// The noise is as strong as it says whatever the bound: nothing of it is clipped away.
BOOST_AUTO_TEST_CASE(noise_is_added_after_clipping) {
  auto settings = plain("fedavg");
  const outcome as_trained(tests::make_experiment(settings, clients, {}, {}), 9);
  const double size = norm(as_trained.update.change);
  settings.aggregation->noise = size;
  const outcome noisy(tests::make_experiment(settings, clients, {}, {}), 9);
  settings.privacy->clip = size / 10;
  const outcome both(tests::make_experiment(settings, clients, {}, {}), 9);
  settings.aggregation->noise = 0.0;
  const outcome clipped(tests::make_experiment(settings, clients, {}, {}), 9);
  const auto before = models::to_dense(as_trained.update.change).values;
  const auto after = models::to_dense(clipped.update.change).values;
  BOOST_REQUIRE(both.update.change.values.size() == before.size());
  for (std::size_t i = 0; i < before.size(); ++i) {
    const float noise = noisy.update.change.values[i] - before[i];
    BOOST_TEST(std::abs(both.update.change.values[i] - after[i] - noise) < 1e-5 * size);
  }
}

/// Of a round with eight updates of nothing.
void check_server_noise(federated::run_settings settings, double deviation) {
  settings.aggregation->rule = federated::chosen_rule("uniform-mean");
  auto shape = tests::ratings_shape{};
  shape.items = 4000;
  const auto e = tests::make_experiment(settings, tests::make_ratings(9, shape), {}, {});
  const auto draw = [&](std::uint64_t version, std::uint64_t count) {
    auto state = federated::initial_state(e);
    for (auto& value : state.model.values()) value = 0.0F;
    state.version = version;
    federated::server_optimizer optimizer(*settings.server, e.parts.shared);
    federated::aggregate round;
    round.change = models::shared_parameters(e.parts.shared);
    round.count = count;
    federated::round_report report;
    federated::close_round(e, state, optimizer, round, report, federated::round_facts(e));
    return state.model;
  };
  const auto model = draw(3, 8);
  double squares = 0.0;
  for (const double value : model.values()) squares += value * value;
  const auto n = static_cast<double>(model.values().size());
  BOOST_TEST(std::abs(squares / n / (deviation * deviation) - 1) < 5 * std::sqrt(2 / n));
  const auto again = draw(3, 8);
  const auto other = draw(4, 8);
  BOOST_TEST(same_bits(model.values(), again.values()));
  BOOST_TEST(!same_bits(model.values(), other.values()));
  if (settings.aggregation->noise > 0) return;
  const auto nobody = draw(3, 0);
  for (const double value : nobody.values()) BOOST_TEST(value == 0.0);
}

BOOST_AUTO_TEST_CASE(server_noise_has_the_deviation_that_the_settings_state) {
  auto settings = plain("fedavg");
  *settings.privacy = {.clip = 0.5, .noise = 1.2};
  check_server_noise(settings, 1.2 * 0.5 / 8);
  settings.aggregation->noise = 0.1;
  settings.aggregation->noise_at = federated::noise_place::server;
  check_server_noise(settings, std::hypot(0.1, 1.2 * 0.5 / 8));
  *settings.privacy = {};
  check_server_noise(settings, 0.1);
}

BOOST_AUTO_TEST_SUITE_END()
