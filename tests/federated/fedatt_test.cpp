#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/rule.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/updates.hpp"

BOOST_AUTO_TEST_SUITE(fedatt_rule)

using namespace furlong;
using federated::rejection;

namespace {

federated::aggregation_settings fedatt(double eps = 1.0) {
  federated::aggregation_settings settings;
  settings.rule = federated::chosen_rule("fedatt");
  settings.rule.options.set("eps", eps);
  settings.max_norm = 64.0;
  return settings;
}

double distance(const models::delta& change, std::size_t t) {
  double squares = 0.0;
  for (const double value : change.values_of(t)) squares += value * value;
  return std::sqrt(squares);
}

/// eqs. 2-4 of the paper, tensor by tensor: softmax over the cohort of the distances, weighted sum of the changes. In
/// asynchronous runs each change is scaled by its update's freshness; empty: by 1.
std::vector<double> naive(const std::vector<federated::client_update>& updates, double eps,
                          const std::vector<double>& freshness = {}) {
  const auto& shape = *updates.front().change.shape;
  std::vector<double> out(shape.size(), 0.0);
  for (std::size_t t = 0; t < shape.count(); ++t) {
    double total = 0.0;
    for (const auto& update : updates) total += std::exp(distance(update.change, t));
    for (std::size_t k = 0; k < updates.size(); ++k) {
      const double attention =
          std::exp(distance(updates[k].change, t)) / total * (freshness.empty() ? 1.0 : freshness[k]);
      const auto dense = models::to_dense(updates[k].change);
      for (std::size_t i = 0; i < shape[t].size(); ++i)
        out[shape.offset(t) + i] += eps * attention * static_cast<double>(dense.values_of(t)[i]);
    }
  }
  return out;
}

federated::aggregate report_of(const federated::aggregation_settings& settings,
                               const std::vector<federated::client_update>& updates,
                               const std::vector<double>& reference) {
  const auto sum = federated::make_accumulator(settings, updates.front().change.shape, reference);
  for (const auto& update : updates) BOOST_REQUIRE(!sum->fold(update));
  return sum->report();
}

federated::client_update of_size(const models::layout_ptr& shape, float size) {
  federated::client_update update;
  update.weight = 1;
  update.change = {shape, {{false, 0, 0, 0}}, {}, {size, 0.0F}};
  return update;
}

models::layout_ptr one_tensor() {
  return std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"w", 1, 2}});
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_streamed_sum_is_the_papers_softmax) {
  for (const float size : {0.01F, 1.0F, 3.0F})
    for (const double eps : {1.0, 1.2}) {
      const auto updates = tests::random_updates(13, 25, tests::mixed_layout(), size);
      const auto round = report_of(fedatt(eps), updates, std::vector<double>(5, 0.0));
      const auto expected = naive(updates, eps);
      BOOST_TEST(round.usable);
      for (std::size_t i = 0; i < expected.size(); ++i)
        BOOST_TEST(std::abs(round.change.values()[i] - expected[i]) < 1e-6 * static_cast<double>(size));
    }
}

BOOST_AUTO_TEST_CASE(the_constant_of_the_round_cancels) {
  const auto updates = tests::random_updates(14, 12, tests::mixed_layout(), 2.0F);
  const auto expected = naive(updates, 1.0);
  for (const double constant : {0.0, 2.5, 14.0}) {
    const auto round = report_of(fedatt(), updates, std::vector<double>(5, constant));
    for (std::size_t i = 0; i < expected.size(); ++i)
      BOOST_TEST(std::abs(round.change.values()[i] - expected[i]) < 1e-5);
  }
}

BOOST_AUTO_TEST_CASE(buffers_are_averaged_alike) {
  const auto shape = std::make_shared<const models::layout>(
      std::vector<models::tensor_spec>{{.name = "w", .cols = 2}, {.name = "m", .cols = 3, .buffer = true}});
  const auto updates = tests::random_updates(19, 9, shape, 40.0F);  // too far for an attention
  auto plain = updates;
  for (auto& update : plain) {
    update.change.shape =
        std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{.name = "w", .cols = 2}});
    update.change.pieces.resize(1);
    for (std::size_t i = 0; i < 2; ++i) update.change.values[i] *= 0.05F;
  }
  auto near = updates;
  for (auto& update : near)
    for (std::size_t i = 0; i < 2; ++i) update.change.values[i] *= 0.05F;
  const auto round = report_of(fedatt(1.2), near, {0.0, 0.0});
  const auto weights = report_of(fedatt(1.2), plain, {0.0});
  BOOST_TEST(round.usable);
  BOOST_TEST(tests::same_bits(round.change.tensor(0), weights.change.tensor(0)));
  BOOST_TEST(round.reference.back() == 0.0);
  for (std::size_t i = 0; i < 3; ++i) {
    double mean = 0.0;
    for (const auto& update : near) mean += static_cast<double>(update.change.values_of(1)[i]) / 9.0;
    BOOST_TEST(std::abs(round.change.tensor(1)[i] - mean) < 1e-5);
  }
}

// Stale: it weighs as ever, and only what it adds is shortened.
BOOST_AUTO_TEST_CASE(a_stale_update_moves_less_and_weighs_the_same) {
  const auto updates = tests::random_updates(18, 2, tests::mixed_layout());
  const auto& shape = updates[0].change.shape;
  const std::vector<double> reference(5, 0.75);
  const auto fold = [&](federated::accumulator& sum, std::size_t i) {
    BOOST_REQUIRE(!sum.fold(updates[i], i == 0 ? 1.0 : 0.25));
  };
  const auto flat = federated::make_accumulator(fedatt(1.2), shape, reference);
  fold(*flat, 0);
  fold(*flat, 1);
  const auto leaf = federated::make_accumulator(fedatt(1.2), shape, reference);
  const auto tree = federated::make_accumulator(fedatt(1.2), shape, reference);
  fold(*leaf, 1);
  fold(*tree, 0);
  BOOST_REQUIRE(tree->merge(leaf->take()));
  const auto expected = naive(updates, 1.2, {1.0, 0.25});
  for (auto* sum : {flat.get(), tree.get()}) {
    const auto round = sum->report();
    BOOST_TEST(round.usable);
    for (std::size_t i = 0; i < expected.size(); ++i)
      BOOST_TEST(std::abs(round.change.values()[i] - expected[i]) < 1e-6);
  }
}

BOOST_AUTO_TEST_CASE(equal_distances_give_the_uniform_mean) {
  auto updates = tests::random_updates(15, 10, one_tensor());
  random_stream stream(16, purpose::test);
  for (auto& update : updates) {
    const double angle = stream.uniform(0.0F, 6.28F);
    update.change = {one_tensor(),
                     {{false, 0, 0, 0}},
                     {},
                     {static_cast<float>(2 * std::cos(angle)), static_cast<float>(2 * std::sin(angle))}};
  }
  const auto round = report_of(fedatt(), updates, {0.0});
  federated::aggregation_settings uniform;
  uniform.rule = federated::chosen_rule("uniform-mean");
  const auto mean = report_of(uniform, updates, {});
  for (std::size_t i = 0; i < 2; ++i) BOOST_TEST(std::abs(round.change.values()[i] - mean.change.values()[i]) < 1e-6F);
}

BOOST_AUTO_TEST_CASE(the_farther_client_weighs_more) {
  const auto shape = one_tensor();
  const auto round = report_of(fedatt(), {of_size(shape, 1.0F), of_size(shape, -3.0F)}, {0.0});
  const double share = 1.0 / (1.0 + std::exp(2.0));  // of the nearer one
  BOOST_TEST(std::abs(round.change.values()[0] - (share - 3.0 * (1.0 - share))) < 1e-6);
}

BOOST_AUTO_TEST_CASE(a_distance_out_of_range_is_refused_whole) {
  const auto shape = tests::mixed_layout();
  const auto settings = fedatt();
  auto update = tests::random_updates(17, 1, shape)[0];
  update.change = models::to_dense(update.change);
  // Only the last tensor is out of range: what stands before it must not have been added.
  update.change.values_of(4)[0] = 31.5F;
  const auto sum = federated::make_accumulator(settings, shape, std::vector<double>(5, 1.0));
  const auto before = sum->save();
  BOOST_TEST((sum->fold(update) == rejection::attention_range));
  BOOST_TEST((sum->save() == before));
  update.change.values_of(4)[0] = 30.5F;
  BOOST_TEST(!sum->fold(update));
  const auto far = federated::make_accumulator(settings, one_tensor(), {40.0});
  BOOST_TEST((far->fold(of_size(one_tensor(), 9.0F)) == rejection::attention_range));
}

BOOST_AUTO_TEST_CASE(the_next_constant_follows_the_mean_distance) {
  const auto shape = one_tensor();
  const auto round = report_of(fedatt(), {of_size(shape, 20.0F), of_size(shape, 24.0F)}, {0.0});
  BOOST_REQUIRE(round.reference.size() == 1U);
  BOOST_TEST(std::abs(round.reference[0] - 12.0) < 1e-6);  // a margin of 10 below the mean of 22
  BOOST_TEST(report_of(fedatt(), {of_size(shape, 1.0F)}, {0.0}).reference[0] == 0.0);
  // A round in which nobody had anything to say teaches nothing: with a constant of 0 again, clients that move by 35
  // would all be refused, in this round and forever.
  BOOST_TEST(federated::make_accumulator(fedatt(), shape, {12.0})->report().reference[0] == 12.0);
}

BOOST_AUTO_TEST_CASE(a_cohort_that_falls_below_the_grid_is_not_applied) {
  const auto shape = one_tensor();
  const auto settings = fedatt();
  BOOST_TEST(!report_of(settings, {of_size(shape, 1.0F)}, {18.0}).usable);  // exp(-17) < 2^-24
  BOOST_TEST(report_of(settings, {of_size(shape, 1.0F)}, {17.0}).usable);   // exp(-16) > 2^-24
}

/// As every client's update is in the first round when nothing else moves it.
federated::client_update of_noise(const models::layout_ptr& shape, float deviation, std::uint32_t client) {
  federated::client_update update;
  update.weight = 1;
  update.change = {shape, {{false, 0, 0, 0}}, {}, std::vector<float>(shape->size())};
  random_stream stream(1, purpose::test, 0, client);
  for (auto& value : update.change.values) value = deviation * stream.normal();
  return update;
}

BOOST_AUTO_TEST_CASE(noise_of_any_scale_is_within_the_range_of_the_first_round) {
  const auto shape = std::make_shared<models::layout>(std::vector<models::tensor_spec>{{"matrix", 800, 500}});
  auto settings = fedatt();
  settings.noise = 0.08;  // moves the matrix by 50 in all, and by 4 in its widest direction
  for (const std::string norm : {"frobenius", "spectral"}) {
    settings.rule.options.set("norm", norm);
    const auto first = federated::first_reference(settings, shape);
    const auto sum = federated::make_accumulator(settings, shape, first);
    for (std::uint32_t client = 0; client < 3; ++client) BOOST_TEST(!sum->fold(of_noise(shape, 0.08F, client)));
    // What was expected is what came: the next constant is close to the first.
    BOOST_TEST(std::abs(sum->report().reference.front() - first.front()) < 1.0);
  }
  settings.noise_at = federated::noise_place::server;
  BOOST_TEST(federated::first_reference(settings, shape).front() == 0.0);
}

BOOST_AUTO_TEST_SUITE_END()
