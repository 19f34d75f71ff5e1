// Implicit ALS: a round of all clients is a sweep of the central algorithm, all sums decay alike, and differences keep
// the exact sums over all clients that have reported.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/client/item_scores.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/tensor_layouts.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "federated/state/broadcasts.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/linear_equations.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(implicit_als)

using namespace furlong;

namespace {

constexpr double alpha = 0.3;
constexpr double ridge = 0.02;
constexpr std::size_t rank = 4;
constexpr std::uint32_t items = 30;
constexpr std::uint32_t all_clients = 17;

std::shared_ptr<tests::table_population> clients() {
  tests::ratings_shape shape;
  shape.empty = 0;
  shape.items = items;
  return tests::make_interactions(41, shape);
}

federated::experiment ials(std::uint32_t rounds, std::uint32_t per_round, const char* kind = "ials",
                           std::optional<double> gamma = {}, double ridge_weight = ridge) {
  federated::run_settings settings;
  settings.rounds = rounds;
  option_values options;
  options.set("alpha", alpha);
  options.set("ridge", ridge_weight);
  if (gamma) options.set("gamma", *gamma);
  *settings.algorithm = federated::chosen_algorithm(kind, options);
  settings.participation->per_round = per_round;
  settings.own->commit = federated::commit_kind::after_ack;
  return tests::make_experiment(settings, clients(), {{"init", 0.5}}, {"user"});
}

federated::server_state run(const federated::experiment& e, storage::memory_store& store) {
  const federated::run_observer quiet{[](const auto&) { return result<void>{}; },
                                      [](const auto&) { return result<void>{}; }, [](auto&) { return result<void>{}; }};
  return federated::run_reference(e, store, quiet, nullptr).value().state;
}
federated::server_state run(const federated::experiment& e) {
  storage::memory_store store(e.parts.private_);
  return run(e, store);
}

using vector = std::vector<double>;
using matrix = std::vector<vector>;

matrix zeros(std::size_t rows, std::size_t cols) { return matrix(rows, vector(cols, 0.0)); }

/// Adds factor v v' to the first columns.
void add_square(matrix& sum, const vector& v, double factor = 1.0) {
  for (std::size_t k = 0; k < v.size(); ++k)
    for (std::size_t j = 0; j < v.size(); ++j) sum[k][j] += factor * v[k] * v[j];
}

/// The central algorithm (Hu, Koren, Volinsky 2008), with the objective of federated/algorithms/ials.cpp.
struct central {
  matrix x;  ///< by client
  matrix y;  ///< by item

  /// One side from the other: `of_row` has, for each row to be solved for, the rows of the other side.
  static matrix solve(const matrix& others, const std::vector<std::vector<std::uint32_t>>& of_row, double count) {
    matrix solved;
    for (const auto& named : of_row) {
      auto equations = zeros(rank, rank + 1);
      for (const auto& other : others) add_square(equations, other, alpha);
      for (const auto row : named) {
        add_square(equations, others[row]);
        for (std::size_t k = 0; k < rank; ++k) equations[k][rank] += others[row][k];
      }
      for (std::size_t k = 0; k < rank; ++k)
        equations[k][k] += ridge * (static_cast<double>(named.size()) + alpha * count);
      solved.push_back(tests::solution_of(std::move(equations)));
    }
    return solved;
  }
  void sweep(const tests::table_population& data) {
    std::vector<std::vector<std::uint32_t>> of_client;
    std::vector<std::vector<std::uint32_t>> of_item(items);
    for (const auto client : data.seen) {
      of_client.push_back(data.tables[client].train.features);
      for (const auto item : of_client.back()) of_item[item].push_back(client);
    }
    x = solve(y, of_client, items);
    y = solve(x, of_item, static_cast<double>(data.seen.size()));
  }
};

matrix rows_of(std::span<const float> values) {
  matrix rows;
  for (std::size_t begin = 0; begin < values.size(); begin += rank)
    rows.emplace_back(values.begin() + static_cast<std::ptrdiff_t>(begin),
                      values.begin() + static_cast<std::ptrdiff_t>(begin + rank));
  return rows;
}

constexpr std::size_t half = rank * (rank + 1) / 2;
constexpr std::size_t row_size = half + rank + 1;
enum : std::size_t { gram, item_sums, all_sums };  // tensors of the server

}  // namespace

BOOST_AUTO_TEST_CASE(rounds_of_all_clients_are_sweeps_of_the_central_algorithm) {
  central expected;
  expected.y = rows_of(federated::initial_model(ials(1, all_clients)).tensor(0));
  for (std::uint32_t rounds = 1; rounds <= 4; ++rounds) {
    expected.sweep(*clients());
    const auto done = run(ials(rounds, all_clients));
    const auto found = rows_of(done.model.tensor(0));
    for (std::size_t item = 0; item < items; ++item)
      for (std::size_t k = 0; k < rank; ++k) BOOST_TEST(std::abs(found[item][k] - expected.y[item][k]) < 1e-4);
    for (std::size_t k = 0; k < rank; ++k) BOOST_TEST(found[items - 1][k] == 0.0);  // nobody has the last item
  }
}

BOOST_AUTO_TEST_CASE(clients_receive_the_gram_matrix_of_all_items_from_the_first_round_on) {
  for (const std::uint32_t rounds : {0U, 2U}) {
    const auto e = ials(std::max(rounds, 1U), all_clients);
    auto model = federated::initial_model(e);
    auto added = federated::initial_added(e, model);
    if (rounds > 0) {
      const auto done = run(e);
      model = done.model;
      added = done.added;
    }
    auto expected = zeros(rank, rank);
    for (const auto& row : rows_of(model.tensor(0))) add_square(expected, row);
    std::size_t next = 0;
    for (std::size_t k = 0; k < rank; ++k)
      for (std::size_t j = 0; j <= k; ++j) BOOST_TEST(std::abs(added.tensor(gram)[next++] - expected[k][j]) < 1e-4);
  }
}

BOOST_AUTO_TEST_CASE(all_sums_decay_by_the_same_factor) {
  const auto counts = [](double gamma, std::uint32_t rounds) {
    const auto done = run(ials(rounds, all_clients, "ials", gamma));
    double interactions = 0.0;
    for (std::size_t item = 0; item < items; ++item)
      interactions += done.added.tensor(item_sums)[item * row_size + row_size - 1];
    return std::pair(interactions, double{done.added.tensor(all_sums)[half]});
  };
  const auto once = counts(0.0, 1);
  BOOST_TEST(once.second == all_clients);
  BOOST_TEST(once.first > 50.0);
  BOOST_TEST((counts(0.0, 3) == once));
  BOOST_TEST((counts(0.5, 3) == std::pair(1.75 * once.first, 1.75 * once.second)));
  // Without one gamma is 1 - the share of clients: 0 of all.
  const auto partial = run(ials(2, 5));
  BOOST_TEST(std::abs(partial.added.tensor(all_sums)[half] - (5.0 * (1.0 - 5.0 / all_clients) + 5.0)) < 1e-4);
}

BOOST_AUTO_TEST_CASE(differences_keep_the_exact_sums_of_what_clients_keep) {
  const auto e = ials(9, 5, "ials-differences");
  storage::memory_store store(e.parts.private_);
  const auto done = run(e, store);
  matrix sums = zeros(items, row_size);
  vector all(half + 1, 0.0);
  const auto data = clients();
  std::size_t reported = 0;
  const auto visited = store.visit([&](std::uint32_t client, std::uint64_t, const models::private_parameters& own) {
    const auto x = own.tensor(0);
    vector row;
    for (std::size_t k = 0; k < rank; ++k)
      for (std::size_t j = 0; j <= k; ++j) row.push_back(double{x[k]} * double{x[j]});
    for (std::size_t i = 0; i < half; ++i) all[i] += row[i];
    all[half] += 1.0;
    row.insert(row.end(), x.begin(), x.end());
    row.push_back(1.0);
    for (const auto item : data->tables[client].train.features)
      for (std::size_t i = 0; i < row_size; ++i) sums[item][i] += row[i];
    ++reported;
  });
  BOOST_REQUIRE(visited.has_value());
  BOOST_TEST(reported > 10U);
  for (std::size_t item = 0; item < items; ++item)
    for (std::size_t i = 0; i < row_size; ++i)
      BOOST_TEST(std::abs(done.added.tensor(item_sums)[item * row_size + i] - sums[item][i]) < 1e-4);
  for (std::size_t i = 0; i <= half; ++i) BOOST_TEST(std::abs(done.added.tensor(all_sums)[i] - all[i]) < 1e-4);
}

// Noise larger than what clients report: the server's rows are finite nevertheless, and shrink as the ridge grows.
BOOST_AUTO_TEST_CASE(noisy_sums_have_solutions) {
  double last = 1e9;
  for (const double weight : {0.5, 50.0, 5000.0}) {
    auto e = ials(3, all_clients, "ials", {}, weight);
    *e.settings.privacy = {.clip = 2.0, .noise = 3.0};
    const auto done = run(e);
    const auto first = rows_of(federated::initial_model(e).tensor(0));
    const auto rows = rows_of(done.model.tensor(0));
    for (std::size_t item = 0; item < items; ++item) BOOST_TEST((rows[item] != first[item]));
    double norm = 0.0;
    for (const double value : done.model.tensor(0)) norm += value * value;
    BOOST_TEST(std::isfinite(norm));
    BOOST_TEST(norm < last);
    last = norm;
  }
}

// Of clients that have never trained as well: the vector is solved for from the newest items.
BOOST_AUTO_TEST_CASE(items_are_scored_by_the_vector_that_the_clients_interactions_have) {
  const auto e = ials(2, all_clients);
  const auto done = run(e);
  const auto sent = federated::sent_model(e, done.last());
  const federated::item_scores scorer(e, sent);
  const auto data = clients();
  const auto y = rows_of(done.model.tensor(0));
  for (const std::uint32_t client : {3U, data->held_out_test.front()}) {
    const auto& known = data->tables[client].train;
    const auto x = central::solve(y, {known.features}, items).front();
    federated::workspace use;
    use.own = models::private_parameters(e.parts.private_);
    federated::initial_private(e, 0, client, use.own);
    std::vector<float> scores(items);
    const auto source = scorer.score(client, {.trains = client == 3}, known.view(), use, scores);
    BOOST_TEST((source == federated::personal_source::reconstructed));
    for (std::size_t item = 0; item < items; ++item) {
      double score = 0.0;
      for (std::size_t k = 0; k < rank; ++k) score += x[k] * y[item][k];
      BOOST_TEST(std::abs(scores[item] - score) < 1e-4);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
