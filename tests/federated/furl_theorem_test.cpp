// FURL's theorem (Bui et al. 2019, eqs. 5-7): personalisation that keeps private parameters on the client is federated
// averaging of a user table on the server, where the factor z_i of eq. 6 is ignored.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <map>

#include "federated/client/client_work.hpp"
#include "federated/participation/uniform.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(furl)

using namespace furlong;

namespace {

struct setting {
  const char* name;
  float momentum;
  bool shuffle;
  federated::optimizer_kind optimizer;
};

federated::run_settings settings_of(const setting& s, std::string_view algorithm) {
  federated::run_settings out;
  out.seed = 5;
  out.participation->per_round = 6;
  *out.algorithm = federated::chosen_algorithm(algorithm);
  *out.client = {.lr = 0.1F, .momentum = s.momentum, .epochs = 2, .batch_size = 4, .shuffle = s.shuffle};
  out.server->optimizer = s.optimizer;
  out.server->lr = s.optimizer == federated::optimizer_kind::sgd ? 1.0 : 0.1;
  return out;
}

tests::option_list options(bool table) {
  return {{"user_bias", true}, {"item_bias", true}, {"mean", true}, {"l2", 0.01}, {"user_table", table}};
}

constexpr const char* own_names[] = {"user", "user_bias"};

/// FURL with private values on the clients (a map stands in for their devices), one round after another.
struct on_clients {
  federated::experiment e;
  federated::server_state state;
  federated::server_optimizer optimizer;
  std::map<std::uint32_t, models::private_parameters> devices;
  federated::workspace use;

  on_clients(const setting& s, const std::shared_ptr<const federated::population>& clients)
      : e(tests::make_experiment(settings_of(s, "furl"), clients, options(false), {"user", "user_bias"})),
        state(federated::initial_state(e)),
        optimizer(*e.settings.server, e.parts.shared) {}

  void round(const std::vector<std::uint32_t>& cohort) {
    const federated::broadcast from{e.run, state.version, state.model, {}};
    const auto sum = federated::make_accumulator(*e.settings.aggregation, e.parts.shared, {});
    for (const auto client : cohort) {
      const auto device = devices.find(client);
      if (device != devices.end()) use.own = device->second;
      federated::client_update update;
      if (federated::client_work(e, from, {e.run, state.version, client, 0}, device != devices.end(), use, update))
        devices.insert_or_assign(client, use.own);
      BOOST_REQUIRE(!sum->fold(update));
    }
    auto round = sum->report();
    federated::round_report report;
    federated::close_round(e, state, optimizer, round, report, federated::round_facts(e));
  }
};

/// FedAvg where the server holds a table of all users. Shared tensors move by eq. 5; a user's row by eq. 7, w + d.
struct on_server {
  federated::experiment e;
  federated::server_state state;
  federated::server_optimizer optimizer;
  federated::workspace use;
  double largest_z_error = 0.0;

  on_server(const setting& s, const std::shared_ptr<const federated::population>& clients)
      : e(tests::make_experiment(settings_of(s, "fedavg"), clients, options(true), {})),
        state(federated::initial_state(e)),
        optimizer(*e.settings.server, e.parts.shared) {}

  [[nodiscard]] std::span<float> row(const char* table, std::uint32_t client) {
    const auto t = e.parts.shared->find(table).value();
    const auto cols = (*e.parts.shared)[t].cols;
    return state.model.tensor(t).subspan(std::size_t{client} * cols, cols);
  }

  void round(const std::vector<std::uint32_t>& cohort) {
    const federated::broadcast from{e.run, state.version, state.model, {}};
    const auto sum = federated::make_accumulator(*e.settings.aggregation, e.parts.shared, {});
    std::map<std::pair<std::uint32_t, const char*>, std::vector<float>> kept;
    std::map<std::pair<std::uint32_t, const char*>, std::vector<double>> delta;
    std::map<std::uint32_t, double> weights;
    double total = 0.0;
    for (const auto client : cohort) {
      federated::client_update update;
      federated::client_work(e, from, {e.run, state.version, client, 0}, false, use, update);
      BOOST_REQUIRE(!sum->fold(update));
      weights[client] = update.weight;
      total += update.weight;
      if (update.weight == 0) continue;
      for (const char* table : own_names) {
        const float* trained = use.weights.weights()[e.parts.model->find(table).value()].row(0);
        for (const auto w : row(table, client)) {  // d = u - w and w + d, exact in double precision
          const double d = static_cast<double>(*trained++) - static_cast<double>(w);
          kept[{client, table}].push_back(static_cast<float>(static_cast<double>(w) + d));
          delta[{client, table}].push_back(d);
        }
      }
    }
    auto round = sum->report();
    check_z(round, delta, weights, total);
    federated::round_report report;
    const auto before = state.model;
    federated::close_round(e, state, optimizer, round, report, federated::round_facts(e));
    for (const char* table : own_names) {  // eq. 7: the rows of users who did not train stay, whatever the optimizer
      const auto t = e.parts.shared->find(table).value();
      std::ranges::copy(before.tensor(t), state.model.tensor(t).begin());
    }
    for (const auto& [which, values] : kept) std::ranges::copy(values, row(which.second, which.first).begin());
  }

  /// eq. 6: what the plain mean would do to the row of user i is z_i d_i, z_i = c_i / sum c.
  void check_z(const federated::aggregate& mean, const auto& delta, auto& weights, double total) {
    for (const auto& [which, d] : delta) {
      const auto t = e.parts.shared->find(which.second).value();
      const auto cols = (*e.parts.shared)[t].cols;
      const auto row = mean.change.tensor(t).subspan(std::size_t{which.first} * cols, cols);
      for (std::size_t i = 0; i < cols; ++i)
        largest_z_error = std::max(largest_z_error, std::abs(row[i] - weights[which.first] / total * d[i]));
    }
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(a_value_kept_on_the_client_is_the_servers_row_bit_for_bit) {
  const setting all[] = {{"plain", 0.0F, false, federated::optimizer_kind::sgd},
                         {"momentum, shuffled", 0.9F, true, federated::optimizer_kind::sgd},
                         {"shuffled, adam", 0.0F, true, federated::optimizer_kind::adam}};
  const auto clients = tests::make_ratings(6);
  for (const auto& s : all) {
    BOOST_TEST_CONTEXT(s.name) {
      on_clients devices(s, clients);
      on_server server(s, clients);
      for (const auto client : clients->training()) {  // both start from the same draws
        models::private_parameters first(devices.e.parts.private_);
        federated::initial_private(devices.e, 0, client, first);
        for (std::size_t t = 0; t < 2; ++t)
          std::ranges::copy(first.tensor(t), server.row(own_names[t], client).begin());
      }
      for (const char* name : {"item", "item_bias", "mean"}) {
        const auto from = devices.e.parts.shared->find(name).value();
        const auto to = server.e.parts.shared->find(name).value();
        std::ranges::copy(devices.state.model.tensor(from), server.state.model.tensor(to).begin());
      }
      for (std::uint32_t round = 0; round < 12; ++round) {
        const auto cohort = federated::uniform_cohort(clients->training(), 6, 5, round);
        devices.round(cohort);
        server.round(cohort);
        for (const char* name : {"item", "item_bias", "mean"})
          BOOST_TEST(tests::same_bits(devices.state.model.tensor(devices.e.parts.shared->find(name).value()),
                                      server.state.model.tensor(server.e.parts.shared->find(name).value())),
                     name << " in round " << round);
        for (const auto& [client, own] : devices.devices)
          for (std::size_t t = 0; t < 2; ++t)
            BOOST_TEST(tests::same_bits(own.tensor(t), server.row(own_names[t], client)),
                       own_names[t] << " of client " << client << " in round " << round);
      }
      BOOST_TEST(devices.devices.size() > 12U);  // most trained, some of them several times
      BOOST_TEST(server.largest_z_error < 1e-6);
    }
  }
}

// One full-batch step of one epoch: the mean of the differences, weighted by examples, is the gradient step on the
// cohort's pooled examples (eq. 5); and each user's own step is on the mean loss of their own (eq. 7).
BOOST_AUTO_TEST_CASE(one_round_is_the_centralised_step_that_eqs_5_and_7_predict) {
  const auto clients = tests::make_ratings(7);
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("furl");
  *settings.client = {.lr = 0.25F, .epochs = 1, .batch_size = 0};
  const auto e = tests::make_experiment(settings, clients, {{"item_bias", true}}, {"user"});
  const auto start = federated::initial_state(e);
  const std::vector<std::uint32_t> cohort = {2, 3, 8, 11};

  // In double precision: d loss / d item, summed over everybody's examples; and each user's own.
  const std::size_t rank = (*e.parts.private_)[0].cols;
  std::vector<double> shared(start.model.values().begin(), start.model.values().end());
  std::map<std::uint32_t, std::vector<double>> users;
  std::vector<double> gradient(shared.size(), 0.0);
  const std::size_t bias = e.parts.shared->offset(1);
  double total = 0.0;
  for (const auto client : cohort) {
    models::private_parameters own(e.parts.private_);
    federated::initial_private(e, 0, client, own);
    auto& user = users[client];
    user.assign(own.values().begin(), own.values().end());
    const auto before = user;
    const auto& data = clients->tables[client].train;
    for (std::size_t i = 0; i < data.labels.size(); ++i) {
      const std::size_t item = data.features[i] * rank;
      double error = shared[bias + data.features[i]] - static_cast<double>(data.labels[i]);
      for (std::size_t c = 0; c < rank; ++c) error += before[c] * shared[item + c];
      gradient[bias + data.features[i]] += 2 * error;
      for (std::size_t c = 0; c < rank; ++c) {
        gradient[item + c] += 2 * error * before[c];
        user[c] -= 0.25 * 2 * error * shared[item + c] / static_cast<double>(data.labels.size());
      }
    }
    total += static_cast<double>(data.labels.size());
  }

  const federated::broadcast from{e.run, 0, start.model, {}};
  const auto sum = federated::make_accumulator(*e.settings.aggregation, e.parts.shared, {});
  federated::workspace use;
  for (const auto client : cohort) {
    federated::client_update update;
    BOOST_TEST(federated::client_work(e, from, {e.run, 0, client, 0}, false, use, update));
    BOOST_REQUIRE(!sum->fold(update));
    for (std::size_t c = 0; c < rank; ++c) BOOST_TEST(std::abs(use.own.values()[c] - users[client][c]) < 1e-6);
  }
  const auto round = sum->report();
  for (std::size_t i = 0; i < shared.size(); ++i)
    BOOST_TEST(std::abs(round.change.values()[i] - -0.25 * gradient[i] / total) < 1e-6);
}

BOOST_AUTO_TEST_SUITE_END()
