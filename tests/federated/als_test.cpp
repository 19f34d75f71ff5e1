// Federated ALS: a round of all clients is the closed-form ridge solution, and what is sent in which direction.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "federated/client/client_work.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/linear_equations.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(als_algorithm)

using namespace furlong;

namespace {

constexpr double user_ridge = 1.5;
constexpr double item_ridge = 0.7;
constexpr double per_rating = 0.2;
constexpr double mean = 3.25;

federated::experiment als(std::uint32_t rounds, option_values options = {}) {
  federated::run_settings settings;
  settings.rounds = rounds;
  if (!options.has("ridge")) options.set("ridge", item_ridge);
  options.set("ridge_per_rating", per_rating);
  *settings.algorithm = federated::chosen_algorithm("als", options);
  *settings.reconstruction = {.solver = federated::solver_kind::least_squares, .ridge = float{user_ridge}};
  settings.participation->per_round = 17;
  return tests::make_experiment(
      settings, tests::make_ratings(41),
      {{"user_bias", true}, {"item_bias", true}, {"mean", true}, {"initial_mean", mean}, {"init", 0.5}},
      {"user", "user_bias"});
}

federated::server_state run(const federated::experiment& e) {
  storage::memory_store store(e.parts.private_);
  const federated::run_observer quiet{[](const auto&) { return result<void>{}; },
                                      [](const auto&) { return result<void>{}; }, [](auto&) { return result<void>{}; }};
  return federated::run_reference(e, store, quiet, nullptr).value().state;
}

using vector = std::vector<double>;

/// The w of the least sum (y - <x, w>)^2 + ridge |w|^2.
vector ridge_solution(const std::vector<vector>& x, const vector& y, double ridge) {
  const std::size_t p = x.front().size();
  std::vector<vector> left(p, vector(p + 1, 0.0));
  for (std::size_t k = 0; k < p; ++k) left[k][k] = ridge;
  for (std::size_t i = 0; i < x.size(); ++i)
    for (std::size_t k = 0; k < p; ++k) {
      for (std::size_t j = 0; j < p; ++j) left[k][j] += x[i][k] * x[i][j];
      left[k][p] += x[i][k] * y[i];
    }
  return tests::solution_of(std::move(left));
}

constexpr std::size_t rank = 4;

}  // namespace

BOOST_AUTO_TEST_CASE(a_round_of_all_clients_is_the_closed_form_ridge_solution) {
  const auto e = als(1);
  const auto first = federated::initial_model(e);
  const auto items = first.tensor(0);
  const auto item_bias = first.tensor(1);
  const auto facts = e.clients->facts();
  std::vector<std::vector<vector>> x(facts.features);
  std::vector<vector> y(facts.features);
  for (const auto client : e.participants->training()) {
    models::examples room;
    const auto data = e.participants->load(client, federated::part::train, room);
    if (data.size() == 0) continue;
    std::vector<vector> design;
    vector target;
    for (std::size_t i = 0; i < data.size(); ++i) {
      const auto row = items.subspan(data.features[i] * rank, rank);
      design.emplace_back(row.begin(), row.end()).push_back(1.0);
      target.push_back(data.labels[i] - mean - item_bias[data.features[i]]);
    }
    auto own = ridge_solution(design, target, user_ridge);
    const double bias = std::exchange(own.back(), 1.0);
    for (std::size_t i = 0; i < data.size(); ++i) {
      x[data.features[i]].push_back(own);
      y[data.features[i]].push_back(data.labels[i] - mean - bias);
    }
  }
  const auto done = run(e);
  std::size_t rated = 0;
  for (std::uint32_t item = 0; item < facts.features; ++item) {
    vector expected(rank + 1, 0.0);  // of an item without ratings
    if (!x[item].empty()) {
      expected = ridge_solution(x[item], y[item], item_ridge + per_rating * static_cast<double>(x[item].size()));
      ++rated;
    }
    for (std::size_t k = 0; k < rank; ++k)
      BOOST_TEST(std::abs(done.model.tensor(0)[item * rank + k] - expected[k]) < 1e-5);
    BOOST_TEST(std::abs(done.model.tensor(1)[item] - expected[rank]) < 1e-5);
  }
  BOOST_TEST(rated > 20U);
  BOOST_TEST(done.model.tensor(2)[0] == float{mean});
}

// With gamma 1 the sums of a round stay, with gamma 0 they do not: then a run is as if it had begun in the last round.
BOOST_AUTO_TEST_CASE(gamma_is_the_memory_of_the_server) {
  const auto counts = [](double gamma, std::uint32_t rounds) {
    option_values options;
    options.set("gamma", gamma);
    const auto e = als(rounds, options);
    const auto state = run(e);
    const auto sums = state.added.tensor(0);
    const auto size = (*e.parts.server)[0].cols;
    double all = 0.0;
    for (std::size_t at = size - 1; at < sums.size(); at += size) all += sums[at];
    return all;
  };
  const double once = counts(0.0, 1);
  BOOST_TEST(once > 50.0);
  BOOST_TEST(counts(0.0, 3) == once);
  BOOST_TEST(counts(1.0, 3) == 3.0 * once);
  BOOST_TEST(counts(0.5, 3) == 1.75 * once);
}

BOOST_AUTO_TEST_CASE(clients_receive_the_model_alone_and_send_the_sums_of_their_items) {
  const auto e = als(1);
  BOOST_TEST(e.parts.down.get() == e.parts.shared.get());
  BOOST_REQUIRE(e.parts.up->count() == 1U);
  BOOST_TEST((*e.parts.up)[0].name == "als/round/sums");
  BOOST_TEST((*e.parts.up)[0].cols == 15U + 5U + 1U);
  const federated::broadcast from{e.run, 0, federated::initial_model(e), {}};
  federated::workspace use;
  federated::client_update update;
  const std::uint32_t client = 3;
  BOOST_TEST(!federated::client_work(e, from, {e.run, 0, client, 0}, false, use, update));
  models::examples room;
  const auto data = e.participants->load(client, federated::part::train, room);
  BOOST_TEST(update.weight == data.size());
  BOOST_TEST(update.examples == 2 * data.size());
  std::vector<float> predictions(data.size());
  e.model->predict(use.weights.weights(), use.weights.data(), predictions);
  double loss = 0.0;
  for (std::size_t i = 0; i < data.size(); ++i) loss += std::pow(double{predictions[i]} - data.labels[i], 2);
  BOOST_TEST(update.loss_sum == loss, boost::test_tools::tolerance(1e-5));
  const auto rows = update.change.rows_of(0);
  const auto values = update.change.values_of(0);
  double ratings = 0.0;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    BOOST_TEST(std::ranges::count(data.features, rows[r]) == values[(r + 1) * 21 - 1]);
    ratings += values[(r + 1) * 21 - 1];
  }
  BOOST_TEST(ratings == data.size());
}

// `rows` limits the examples in the sums, which are others in another round, and the weight.
BOOST_AUTO_TEST_CASE(a_client_can_send_the_sums_of_some_examples) {
  option_values options;
  options.set("rows", std::int64_t{5});
  const auto e = als(1, options);
  const auto sums_in = [&](std::uint64_t version) {
    federated::workspace use;
    federated::client_update update;
    const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
    BOOST_TEST(!federated::client_work(e, from, {e.run, version, 3, 0}, false, use, update));
    BOOST_TEST(update.weight == 5U);
    const auto rows = update.change.rows_of(0);
    std::vector<float> ratings;
    for (std::size_t r = 0; r < rows.size(); ++r) ratings.push_back(update.change.values_of(0)[(r + 1) * 21 - 1]);
    BOOST_TEST(std::accumulate(ratings.begin(), ratings.end(), 0.0F) == 5.0F);
    return ratings;
  };
  BOOST_TEST(e.participants->count(3, federated::part::train) > 5U);
  BOOST_TEST((sums_in(0) != sums_in(1)));
}

// Noise larger than all ridges: the server's rows are finite nevertheless, and shrink as the ridge grows.
BOOST_AUTO_TEST_CASE(noisy_sums_have_solutions) {
  double last = 1e9;
  for (const double ridge : {0.7, 70.0, 7000.0}) {
    option_values options;
    options.set("ridge", ridge);
    auto e = als(3, options);
    *e.settings.privacy = {.clip = 2.0, .noise = 3.0};
    const auto end = run(e);
    double norm = 0.0;
    for (const double value : end.model.tensor(0)) norm += value * value;
    BOOST_TEST(std::isfinite(norm));
    BOOST_TEST(norm < last);
    last = norm;
  }
}

BOOST_AUTO_TEST_SUITE_END()
