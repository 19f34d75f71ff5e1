// The order in which a client goes through its examples: keyed by seed, version, client and epoch.
#include <boost/test/unit_test.hpp>
#include <numeric>

#include "federated/client/client_work.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(shuffling)

using namespace furlong;
using tests::same_bits;

namespace {

/// Clients 8 and 9 have the same examples.
std::shared_ptr<tests::table_population> two_alike() {
  auto made = tests::make_ratings(8);
  made->tables[8].train = made->tables[9].train;
  return made;
}
const auto clients = two_alike();

struct key {
  std::uint64_t seed = 1;
  std::uint32_t version = 0;
  std::uint32_t client = 9;
};

/// A step for each example.
federated::experiment shuffled(const key& of, std::uint32_t epochs) {
  federated::run_settings settings;
  settings.seed = of.seed;
  *settings.client = {.lr = 0.2F, .epochs = epochs, .batch_size = 1, .shuffle = true};
  return tests::make_experiment(settings, clients, {}, {});
}

std::vector<float> change_of(const key& of, std::uint32_t epochs) {
  const auto e = shuffled(of, epochs);
  federated::workspace use;
  federated::client_update update;
  federated::client_work(e, {e.run, of.version, federated::initial_model(e), {}}, {e.run, of.version, of.client, 0},
                         false, use, update);
  return update.change.values;
}

/// The same by hand: each epoch puts the order that the last one left into another.
std::vector<float> change_by_hand(const key& of, std::uint32_t epochs) {
  const auto e = shuffled(of, epochs);
  const auto model = federated::initial_model(e);
  const auto data = clients->tables[of.client].train.view();
  models::working_set on;
  on.gather(*e.model, e.parts, model, models::private_parameters(e.parts.private_), data, of.client);
  on.train_only(e.parts.all_tensors);
  std::vector<std::uint32_t> order(data.size());
  std::iota(order.begin(), order.end(), 0U);
  for (std::uint32_t epoch = 0; epoch < epochs; ++epoch) {
    random_stream stream(of.seed, purpose::shuffle_examples, of.version, of.client, epoch);
    stream.shuffle(std::span(order));
    for (const auto i : order) on.step(on.data().slice(i, i + 1), {.rate = 0.2F});
  }
  models::delta change;
  on.difference(model, change);
  return change.values;
}

}  // namespace

BOOST_AUTO_TEST_CASE(epochs_go_through_the_orders_of_their_streams) {
  for (const key& of : {key{}, key{77, 3, 9}, key{1, 5, 8}})
    for (const std::uint32_t epochs : {1U, 2U, 3U})
      BOOST_TEST(same_bits(change_of(of, epochs), change_by_hand(of, epochs)));
}

BOOST_AUTO_TEST_CASE(clients_with_the_same_examples_take_them_in_different_orders) {
  BOOST_TEST(same_bits(change_of({}, 2), change_of({}, 2)));
  BOOST_TEST(!same_bits(change_of({1, 0, 8}, 1), change_of({1, 0, 9}, 1)));
  BOOST_TEST(!same_bits(change_of({1, 4, 9}, 1), change_of({1, 5, 9}, 1)));
}

BOOST_AUTO_TEST_SUITE_END()
