#include "federated/experiment/pooled_population.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/client/client_work.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(pooled_populations)

using namespace furlong;

BOOST_AUTO_TEST_CASE(the_one_client_holds_every_training_example_with_its_owner) {
  for (const bool ratings : {true, false}) {
    const auto clients = ratings ? tests::make_ratings(1) : tests::make_classes(1);
    const auto pool = federated::pool_clients(clients);
    BOOST_TEST(pool->training().size() == 1U);
    BOOST_TEST(pool->unseen_test().empty());
    BOOST_TEST(pool->unseen_validation().empty());
    models::examples scratch;
    const auto all = pool->load(pool->training()[0], federated::part::train, scratch);
    std::size_t at = 0;
    for (const auto client : clients->training()) {
      const auto& own = clients->tables[client].train;
      models::examples picked;
      picked.append(all.slice(at, at + own.labels.size()));
      BOOST_TEST(picked.features == own.features);
      BOOST_TEST(picked.values == own.values);
      BOOST_TEST(picked.labels == own.labels);
      for (const auto owner : picked.owners) BOOST_TEST(owner == client);
      at += own.labels.size();
    }
    BOOST_TEST(at == all.size());
    BOOST_TEST(pool->load(0, federated::part::test, scratch).size() == 0U);
    BOOST_TEST(pool->feature_name(3) == clients->feature_name(3));
    BOOST_TEST(pool->facts().clients == clients->facts().clients);
  }
}

// Personalised centralized training: a user's row moves by that user's examples alone, in the pool's mean loss.
BOOST_AUTO_TEST_CASE(a_user_table_learns_every_row_from_its_owner) {
  const auto clients = tests::make_ratings(2);
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("centralized");
  *settings.client = {.lr = 0.5F, .epochs = 1, .batch_size = 0};
  const auto e = tests::make_experiment(settings, clients, {{"user_table", true}}, {});
  const auto model = federated::initial_model(e);
  const federated::broadcast from{e.run, 0, model, {}};
  federated::workspace use;
  federated::client_update update;
  federated::client_work(e, from, {e.run, 0, 0, 0}, false, use, update);
  const auto dense = models::to_dense(update.change);
  const std::size_t rank = (*e.parts.shared)[0].cols;
  for (std::uint32_t client = 0; client < clients->what.clients; ++client) {
    const auto& data = clients->tables[client].train;
    const bool trains = std::ranges::binary_search(clients->seen, client);
    const auto user = model.tensor(0).subspan(client * rank, rank);
    std::vector<double> gradient(rank, 0.0);
    for (std::size_t i = 0; trains && i < data.labels.size(); ++i) {
      const auto item = model.tensor(1).subspan(data.features[i] * rank, rank);
      double error = -static_cast<double>(data.labels[i]);
      for (std::size_t c = 0; c < rank; ++c) error += static_cast<double>(user[c]) * item[c];
      for (std::size_t c = 0; c < rank; ++c) gradient[c] += 2 * error * static_cast<double>(item[c]);
    }
    for (std::size_t c = 0; c < rank; ++c)
      BOOST_TEST(std::abs(dense.values[client * rank + c] - -0.5 * gradient[c] / update.weight) < 1e-6);
  }
}

BOOST_AUTO_TEST_SUITE_END()
