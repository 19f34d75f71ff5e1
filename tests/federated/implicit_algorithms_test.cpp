// PFedRec, FedRAP and the counts of popular items: what follows from their definitions.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/client/item_scores.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "federated/simulation/reference_loop.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(implicit_algorithms)

using namespace furlong;

namespace {

constexpr std::uint32_t client = 9;
constexpr std::size_t rank = 4;
constexpr std::uint32_t items = 30;
const auto clients = tests::make_interactions(8);

using vector = std::vector<double>;
using matrix = std::vector<vector>;

double sigmoid(double z) { return 1.0 / (1.0 + std::exp(-z)); }

double product(const vector& a, const vector& b) {
  double sum = 0.0;
  for (std::size_t k = 0; k < a.size(); ++k) sum += a[k] * b[k];
  return sum;
}

vector values_of(std::span<const float> values) { return {values.begin(), values.end()}; }

matrix rows_of(std::span<const float> values) {
  matrix rows;
  for (std::size_t begin = 0; begin < values.size(); begin += rank)
    rows.push_back(values_of(values.subspan(begin, rank)));
  return rows;
}

/// The change of the items that an update reports.
matrix change_of_items(const federated::client_update& update) {
  return rows_of(models::to_dense(update.change).values_of(0));
}

option_values with(std::initializer_list<std::pair<const char*, option_value>> all) {
  option_values options;
  for (const auto& [name, value] : all) options.set(name, value);
  return options;
}

federated::experiment pfedrec(const char* evaluate) {
  federated::run_settings settings;
  *settings.algorithm =
      federated::chosen_algorithm("pfedrec", with({{"item_lr", 2.0}, {"evaluate", std::string(evaluate)}}));
  *settings.client = {.lr = 0.3F, .epochs = 2, .batch_size = 7};
  return tests::make_experiment(settings, clients, {{"init", 0.7}}, {"score", "score_bias"}, "score-function");
}

/// A task of the client on the first model, from the private values in `use` if it has some.
federated::client_update trained(const federated::experiment& e, federated::workspace& use, std::uint64_t version = 0,
                                 bool has_own = false) {
  const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
  federated::client_update update;
  BOOST_TEST(federated::client_work(e, from, {e.run, version, client, 0}, has_own, use, update));
  return update;
}

/// The examples of its task.
models::examples examples_of(const federated::experiment& e, std::uint32_t version) {
  federated::negatives_room room;
  static_cast<void>(with_negatives(e, {version, client}, clients->tables[client].train.view(), room));
  return room.drawn;
}

}  // namespace

// Algorithm 1 of Zhang et al. 2023, in double.
BOOST_AUTO_TEST_CASE(pfedrec_steps_on_the_score_function_and_then_on_the_items_of_each_batch) {
  const auto e = pfedrec("shared");
  federated::workspace use;
  const auto update = trained(e, use);
  const auto data = examples_of(e, 0);
  const auto start = rows_of(federated::initial_model(e).tensor(0));
  models::private_parameters own(e.parts.private_);
  federated::initial_private(e, 0, client, own);
  auto y = start;
  auto w = values_of(own.tensor(0));
  double bias = own.tensor(1)[0];
  for (int epoch = 0; epoch < 2; ++epoch)
    for (std::size_t first = 0; first < data.labels.size(); first += 7) {
      const auto last = std::min(first + 7, data.labels.size());
      const auto error = [&](std::size_t i) {
        return (sigmoid(bias + product(w, y[data.features[i]])) - data.labels[i]) / static_cast<double>(last - first);
      };
      vector d_w(rank, 0.0);
      double d_bias = 0.0;
      for (std::size_t i = first; i < last; ++i) {
        const double slope = error(i);
        for (std::size_t k = 0; k < rank; ++k) d_w[k] += slope * y[data.features[i]][k];
        d_bias += slope;
      }
      for (std::size_t k = 0; k < rank; ++k) w[k] -= double{0.3F} * d_w[k];
      bias -= double{0.3F} * d_bias;
      matrix d_y(items, vector(rank, 0.0));
      for (std::size_t i = first; i < last; ++i) {
        const double slope = error(i);
        for (std::size_t k = 0; k < rank; ++k) d_y[data.features[i]][k] += slope * w[k];
      }
      for (std::size_t item = 0; item < items; ++item)
        for (std::size_t k = 0; k < rank; ++k) y[item][k] -= 2.0 * d_y[item][k];
    }
  const auto change = change_of_items(update);
  for (std::size_t item = 0; item < items; ++item)
    for (std::size_t k = 0; k < rank; ++k) BOOST_TEST(std::abs(change[item][k] - (y[item][k] - start[item][k])) < 1e-5);
  for (std::size_t k = 0; k < rank; ++k) BOOST_TEST(std::abs(use.own.tensor(0)[k] - w[k]) < 1e-5);
  BOOST_TEST(std::abs(use.own.tensor(1)[0] - bias) < 1e-5);
  BOOST_TEST(update.weight == 2 * clients->tables[client].train.labels.size());
}

// Of its last task alone: rows that an earlier one has trained are the server's again.
BOOST_AUTO_TEST_CASE(pfedrec_predicts_by_the_rows_of_its_last_task_and_by_the_servers_rows_of_other_items) {
  const auto e = pfedrec("own");
  const auto shared = pfedrec("shared");
  federated::workspace use;
  static_cast<void>(trained(e, use));
  const auto update = trained(e, use, 1, true);
  const auto start = federated::initial_model(e);
  auto y = rows_of(start.tensor(0));
  const auto change = change_of_items(update);
  const auto data = examples_of(e, 1);
  const auto is_trained = [&](std::uint32_t item) { return std::ranges::count(data.features, item) > 0; };
  const auto score = [&](const vector& row) {
    return use.own.tensor(1)[0] + product(values_of(use.own.tensor(0)), row);
  };
  const auto scores_of = [&](const federated::experiment& run) {
    federated::workspace scoring;
    scoring.own = models::private_parameters(run.parts.private_);
    std::copy_n(use.own.values().begin(), scoring.own.values().size(), scoring.own.values().begin());
    std::vector<float> scores(items);
    static_cast<void>(federated::item_scores(run, start).score(client, {.has_state = true}, {}, scoring, scores));
    return scores;
  };
  const auto own_scores = scores_of(e);
  const auto shared_scores = scores_of(shared);
  std::size_t others = 0;
  for (std::uint32_t item = 0; item < items; ++item) {
    BOOST_TEST(std::abs(shared_scores[item] - score(y[item])) < 1e-5);
    for (std::size_t k = 0; k < rank; ++k) y[item][k] += change[item][k];
    BOOST_TEST(std::abs(own_scores[item] - score(y[item])) < 1e-5);
    if (is_trained(item)) continue;
    ++others;
    BOOST_TEST(own_scores[item] == shared_scores[item]);
  }
  BOOST_TEST(others > 0U);
}

// One step of FedRAP is down the slope of its objective, by central differences.
BOOST_AUTO_TEST_CASE(fedrap_descends_the_loss_with_both_regularizers) {
  constexpr double apart = 3.0;
  constexpr double sparse = 0.8;
  constexpr std::uint32_t version = 5;
  federated::run_settings settings;
  *settings.algorithm =
      federated::chosen_algorithm("fedrap", with({{"item_lr", 2.0}, {"lambda", apart}, {"mu", sparse}}));
  *settings.client = {.lr = 0.3F, .batch_size = 0};
  const auto e = tests::make_experiment(settings, clients, {{"init", 0.7}, {"own_items", true}},
                                        {"score", "score_bias", "own_item"}, "score-function");
  federated::workspace use;
  use.own = models::private_parameters(e.parts.private_);
  random_stream stream(5, purpose::test);
  for (auto& value : use.own.values()) value = stream.uniform(-0.5F, 0.5F);
  const auto before = use.own;
  const auto update = trained(e, use, version, true);

  const auto data = examples_of(e, version);
  auto c = rows_of(federated::initial_model(e).tensor(0));
  auto w = values_of(before.tensor(0));
  auto d = rows_of(before.tensor(2));
  const double bias = before.tensor(1)[0];
  const auto objective = [&] {
    const double weight = std::tanh(version / 10.0);
    double loss = 0.0;
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      const auto item = data.features[i];
      vector sum(rank);
      for (std::size_t k = 0; k < rank; ++k) sum[k] = c[item][k] + d[item][k];
      const double z = bias + product(w, sum);
      loss += std::log1p(std::exp(z)) - data.labels[i] * z;
      for (std::size_t k = 0; k < rank; ++k) {
        const double difference = d[item][k] - c[item][k];
        loss -= weight * apart * difference * difference / rank;
        loss += weight * sparse * std::abs(c[item][k]) / rank;
      }
    }
    return loss / static_cast<double>(data.labels.size());
  };
  const auto slope = [&](double& value) {
    constexpr double step = 1e-5;
    value += step;
    const double above = objective();
    value -= 2 * step;
    const double below = objective();
    value += step;
    return (above - below) / (2 * step);
  };
  const auto change = change_of_items(update);
  const auto d_after = rows_of(use.own.tensor(2));
  for (std::size_t item = 0; item < items; ++item)
    for (std::size_t k = 0; k < rank; ++k) {
      BOOST_TEST(std::abs(change[item][k] + 2.0 * slope(c[item][k])) < 1e-4);
      BOOST_TEST(std::abs(d_after[item][k] - d[item][k] + 2.0 * slope(d[item][k])) < 1e-4);
    }
  for (std::size_t k = 0; k < rank; ++k)
    BOOST_TEST(std::abs(use.own.tensor(0)[k] - w[k] + double{0.3F} * slope(w[k])) < 1e-4);
}

BOOST_AUTO_TEST_CASE(popularity_counts_the_interactions_of_all_clients) {
  federated::run_settings settings;
  settings.rounds = 1;
  *settings.algorithm = federated::chosen_algorithm("popularity");
  settings.participation->per_round = 17;
  const auto e =
      tests::make_experiment(settings, clients, {{"rank", std::int64_t{1}}, {"init", 0.0}, {"item_bias", true}}, {});
  storage::memory_store store(e.parts.private_);
  const federated::run_observer quiet{[](const auto&) { return result<void>{}; },
                                      [](const auto&) { return result<void>{}; }, [](auto&) { return result<void>{}; }};
  const auto done = federated::run_reference(e, store, quiet, nullptr).value().state;
  std::vector<float> counts(items, 0.0F);
  for (const auto id : clients->seen)
    for (const auto item : clients->tables[id].train.features) counts[item] += 1.0F;
  const auto bias = done.model.tensor(e.parts.slots[*e.parts.model->find("item_bias")].tensor);
  BOOST_TEST(std::ranges::equal(bias, counts));
}

BOOST_AUTO_TEST_SUITE_END()
