// The steps of reconstruction outside training: as wide as their own batch size says, whatever the client's is.
#include <cmath>
#include <numeric>

#include "federated/client/inference.hpp"
#include "federated/settings/training.hpp"
#include "tests/federated/evaluations.hpp"

BOOST_AUTO_TEST_SUITE(reconstruction_batches)

using namespace furlong;

namespace {

struct rating {
  int item;
  double label;
};
using batches = std::vector<std::vector<rating>>;

constexpr float rate = 0.02F;

/// Client 0 trains, client 1 does not; item i has the value i + 1, and whose user is asked for begins at 0.5.
federated::experiment one_of_each() {
  auto clients = std::make_shared<tests::table_population>();
  clients->what = {4, 2, models::objective::squared_error};
  clients->seen = {0};
  clients->held_out_test = {1};
  clients->tables.resize(2);
  clients->tables[0] = {{{0, 1, 3}, {}, {}, {3, 4, 1}, {}}, {}, {{2}, {}, {}, {2}, {}}};
  clients->tables[1] = {{{3, 2, 1, 0, 1}, {}, {}, {5, 4, 3, 2, 1}, {}}, {}, {}};
  auto e = tests::experiment_of("fedavg", {"user"}, clients);
  e.settings.client->batch_size = 1;
  *e.settings.reconstruction = {.lr = rate, .epochs = 1, .batch_size = 2};
  return e;
}

models::shared_parameters model_of(const federated::experiment& e) {
  models::shared_parameters model(e.parts.shared);
  model.tensor(e.parts.shared->find("user").value())[0] = 0.5F;
  const auto items = model.tensor(e.parts.shared->find("item").value());
  std::iota(items.begin(), items.end(), 1.0F);
  return model;
}

/// The user after a step for each batch, down the gradient of its mean squared error.
double tuned(const batches& steps) {
  double user = 0.5;
  for (const auto& batch : steps) {
    double gradient = 0.0;
    for (const auto& [item, label] : batch) gradient += 2 * (user * (item + 1) - label) * (item + 1);
    user -= rate * gradient / static_cast<double>(batch.size());
  }
  return user;
}

double loss(double user, const std::vector<rating>& asked) {
  double sum = 0.0;
  for (const auto& [item, label] : asked) sum += std::pow(user * (item + 1) - label, 2);
  return sum / static_cast<double>(asked.size());
}

}  // namespace

BOOST_AUTO_TEST_CASE(reconstruction_steps_are_as_wide_as_their_own_batch_size) {
  const auto e = one_of_each();
  const auto model = model_of(e);
  const auto got = tests::report_of(e, model);
  const batches own = {{{0, 3}, {1, 4}}, {{3, 1}}};
  BOOST_TEST(std::abs(got.seen.value().loss - loss(tuned(own), {{2, 2}})) < 1e-4);
  // The first, third and fifth are support.
  const batches support = {{{3, 5}, {1, 3}}, {{1, 1}}};
  BOOST_TEST(std::abs(got.unseen.value().loss - loss(tuned(support), {{2, 4}, {0, 2}})) < 1e-4);
  const models::examples known{{0, 1, 3}, {}, {}, {3, 4, 1}, {}};
  const auto answer = federated::predict_all_features(e, model, nullptr, std::nullopt, known.view()).value();
  for (std::size_t item = 0; item < 4; ++item)
    BOOST_TEST(std::abs(answer.predictions.at(item) - tuned(own) * static_cast<double>(item + 1)) < 1e-4);
}

// Without a size of its own: one by one, as the client's.
BOOST_AUTO_TEST_CASE(without_one_they_are_as_wide_as_the_clients_batches) {
  auto e = one_of_each();
  e.settings.reconstruction->batch_size = 0;
  const auto model = model_of(e);
  const auto got = tests::report_of(e, model);
  const batches own = {{{0, 3}}, {{1, 4}}, {{3, 1}}};
  BOOST_TEST(std::abs(got.seen.value().loss - loss(tuned(own), {{2, 2}})) < 1e-4);
  const batches support = {{{3, 5}}, {{1, 3}}, {{1, 1}}};
  BOOST_TEST(std::abs(got.unseen.value().loss - loss(tuned(support), {{2, 4}, {0, 2}})) < 1e-4);
  const models::examples known{{0, 1, 3}, {}, {}, {3, 4, 1}, {}};
  const auto answer = federated::predict_all_features(e, model, nullptr, std::nullopt, known.view()).value();
  BOOST_TEST(std::abs(answer.predictions.at(0) - tuned(own)) < 1e-4);
}

BOOST_AUTO_TEST_SUITE_END()
