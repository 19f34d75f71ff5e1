#include "federated/client/local_training.hpp"

#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(local_training)

using namespace furlong;
using federated::batch_range;

namespace {

std::vector<std::pair<std::uint32_t, std::uint32_t>> cut(std::uint32_t first, std::uint32_t last, std::uint32_t size) {
  std::vector<batch_range> batches;
  federated::cut_batches(first, last, size, batches);
  std::vector<std::pair<std::uint32_t, std::uint32_t>> out;
  for (const auto& batch : batches) out.emplace_back(batch.first, batch.last);
  return out;
}

using ranges = std::vector<std::pair<std::uint32_t, std::uint32_t>>;

}  // namespace

BOOST_AUTO_TEST_CASE(batches_cover_the_examples_in_order) {
  BOOST_TEST((cut(0, 7, 3) == ranges{{0, 3}, {3, 6}, {6, 7}}));
  BOOST_TEST((cut(2, 6, 2) == ranges{{2, 4}, {4, 6}}));
  BOOST_TEST((cut(0, 7, 0) == ranges{{0, 7}}));
  BOOST_TEST((cut(0, 7, UINT32_MAX) == ranges{{0, 7}}));
  BOOST_TEST((cut(4, 4, 3) == ranges{}));
  BOOST_TEST((cut(4, 4, 0) == ranges{}));
}

BOOST_AUTO_TEST_CASE(even_batches_support_and_odd_ones_query) {
  for (std::uint32_t n = 0; n < 8; ++n) {
    std::vector<batch_range> all;
    for (std::uint32_t i = 0; i < n; ++i) all.push_back({i, i + 1});
    std::vector<batch_range> support(3);
    std::vector<batch_range> query(3);
    federated::split_batches(all, support, query);
    BOOST_TEST(support.size() + query.size() == n);
    for (std::uint32_t i = 0; i < n; ++i) BOOST_TEST((i % 2 == 0 ? support : query)[i / 2].first == i);
  }
}

BOOST_AUTO_TEST_CASE(repeat_comes_before_take) {
  const auto clients = tests::make_ratings(3);
  const auto e = tests::make_experiment({}, clients, {}, {});
  const auto model = federated::initial_model(e);
  const models::private_parameters own(e.parts.private_);
  models::working_set on;
  std::vector<batch_range> batches;
  const auto data = clients->tables[4].train.view();
  BOOST_REQUIRE(data.size() >= 3U);
  federated::cut_batches(0, 3, 1, batches);
  const auto run = [&](std::uint32_t epochs, std::uint32_t cap) {
    on.gather(*e.model, e.parts, model, own, data, 4);
    on.train_only(e.parts.all_tensors);
    const auto done = federated::run_batches(on, batches, epochs, cap, {.rate = 0.1F});
    models::delta change;
    on.difference(model, change);
    return std::pair(done.examples, change.values);
  };
  BOOST_TEST(run(3, 0).first == 9U);
  BOOST_TEST(run(3, 7).first == 7U);  // two whole passes and one batch of the third
  BOOST_TEST(run(3, 100).first == 9U);
  BOOST_TEST(run(0, 7).first == 0U);
  // Seven steps are two passes and a step, whichever way they are asked for.
  on.gather(*e.model, e.parts, model, own, data, 4);
  on.train_only(e.parts.all_tensors);
  for (const std::uint32_t i : {0U, 1U, 2U, 0U, 1U, 2U, 0U})
    on.step(on.data().slice(batches[i].first, batches[i].last), {.rate = 0.1F});
  models::delta change;
  on.difference(model, change);
  BOOST_TEST(tests::same_bits(run(3, 7).second, change.values));
}

BOOST_AUTO_TEST_CASE(least_squares_is_the_minimum_of_the_penalised_error) {
  for (const bool per_example : {false, true}) {
    const auto clients = tests::make_ratings(4);
    const auto e = tests::make_experiment({}, clients, {{"user_bias", true}, {"item_bias", true}, {"init", 0.7}},
                                          {"user", "user_bias"});
    const auto model = federated::initial_model(e);
    const models::private_parameters own(e.parts.private_);
    models::working_set on;
    const auto data = clients->tables[5].train.view();
    on.gather(*e.model, e.parts, model, own, data, 5);
    std::vector<batch_range> batches;
    federated::cut_batches(0, static_cast<std::uint32_t>(data.size()), 2, batches);
    const federated::reconstruction_settings how{
        .solver = federated::solver_kind::least_squares, .ridge = 0.3F, .ridge_per_example = per_example};
    federated::solver_scratch scratch;
    const auto done = federated::reconstruct(*e.model, on, e.parts.private_tensors, batches, how, scratch);
    BOOST_TEST(done.examples == data.size());

    const auto objective = [&] {
      std::vector<float> guess(data.size());
      e.model->predict(on.weights(), on.data(), guess);
      double sum = 0.0;
      for (std::size_t i = 0; i < guess.size(); ++i) sum += std::pow(static_cast<double>(guess[i]) - data.labels[i], 2);
      const double ridge = per_example ? 0.3 * static_cast<double>(data.size()) : 0.3;
      for (const auto t : e.parts.private_tensors)
        for (std::size_t i = 0; i < on.weights()[t].size(); ++i)
          sum += ridge * std::pow(static_cast<double>(on.weights()[t].data[i]), 2);
      return sum;
    };
    const double best = objective();
    for (const auto t : e.parts.private_tensors)
      for (std::size_t i = 0; i < on.weights()[t].size(); ++i)
        for (const float aside : {-0.02F, 0.02F}) {
          on.weights()[t].data[i] += aside;
          BOOST_TEST(objective() > best);
          on.weights()[t].data[i] -= aside;
        }
    models::delta change;
    on.difference(model, change);
    for (const auto value : change.values) BOOST_TEST(value == 0.0F);  // what is shared was frozen
  }
}

BOOST_AUTO_TEST_CASE(without_support_or_tensors_nothing_is_reconstructed) {
  const auto clients = tests::make_ratings(4);
  const auto e = tests::make_experiment({}, clients, {}, {"user"});
  const auto model = federated::initial_model(e);
  models::private_parameters own(e.parts.private_);
  own.values()[0] = 0.25F;
  models::working_set on;
  on.gather(*e.model, e.parts, model, own, clients->tables[5].train.view(), 5);
  federated::solver_scratch scratch;
  for (const auto solver : {federated::solver_kind::sgd, federated::solver_kind::least_squares}) {
    const federated::reconstruction_settings how{.solver = solver};
    const batch_range one{0, 1};
    BOOST_TEST(federated::reconstruct(*e.model, on, e.parts.private_tensors, {}, how, scratch).examples == 0U);
    BOOST_TEST(federated::reconstruct(*e.model, on, {}, {&one, 1}, how, scratch).examples == 0U);
  }
  BOOST_TEST(on.weights()[0].data[0] == 0.25F);
}

BOOST_AUTO_TEST_SUITE_END()
