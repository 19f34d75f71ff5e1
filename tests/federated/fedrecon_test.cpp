// FedRecon (Singhal et al. 2021, algorithm 1): what is touched by which examples, in which phase.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "federated/client/client_work.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(fedrecon)

using namespace furlong;
using federated::solver_kind;
using tests::same_bits;

namespace {

constexpr std::uint32_t client = 2;

/// One client whose i-th example names item i: an item's row tells whether its example was used to update.
std::shared_ptr<tests::table_population> one_item_each(std::uint32_t count) {
  auto made = std::make_shared<tests::table_population>();
  made->what = {count, client + 1, models::objective::squared_error};
  made->seen = {client};
  made->tables.resize(client + 1);
  random_stream stream(1, purpose::test);
  for (std::uint32_t i = 0; i < count; ++i) {
    made->tables[client].train.features.push_back(i);
    made->tables[client].train.labels.push_back(1.0F + static_cast<float>(stream.below(5)));
  }
  return made;
}

federated::run_settings recon(const federated::reconstruction_settings& how = {}) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  *settings.client = {.lr = 0.2F, .epochs = 1, .batch_size = 2};
  *settings.reconstruction = how;
  return settings;
}

struct outcome {
  federated::experiment e;
  federated::client_update update;
  federated::workspace use;
  bool to_store;

  explicit outcome(const federated::run_settings& settings, std::uint32_t count = 11, std::uint64_t version = 0)
      : e(tests::make_experiment(settings, one_item_each(count), {{"init", 0.5}}, {"user"})) {
    const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
    to_store = federated::client_work(e, from, {e.run, version, client, 0}, false, use, update);
  }
  [[nodiscard]] std::vector<std::uint32_t> moved_items() const {
    std::vector<std::uint32_t> out;
    const auto dense = models::to_dense(update.change);
    const std::size_t cols = (*e.parts.shared)[0].cols;
    for (std::uint32_t row = 0; row < (*e.parts.shared)[0].rows; ++row)
      if (std::any_of(dense.values.begin() + static_cast<long>(row * cols),
                      dense.values.begin() + static_cast<long>((row + 1) * cols), [](float v) { return v != 0.0F; }))
        out.push_back(row);
    return out;
  }
  /// The user vector at the end of the work.
  [[nodiscard]] std::vector<float> user() const {
    const auto& view = use.weights.weights()[0];
    return {view.data, view.data + view.size()};
  }
  [[nodiscard]] std::vector<float> drawn(std::uint32_t version = 0) const {
    models::private_parameters own(e.parts.private_);
    federated::initial_private(e, version, client, own);
    return {own.values().begin(), own.values().end()};
  }
};

/// The user vector after SGD on these examples (ranges in the client's order), items as broadcast.
std::vector<float> reconstructed(const outcome& of, const std::vector<federated::batch_range>& batches, float lr) {
  const auto model = federated::initial_model(of.e);
  models::private_parameters own(of.e.parts.private_);
  federated::initial_private(of.e, 0, client, own);
  models::examples scratch;
  models::working_set on;
  on.gather(*of.e.model, of.e.parts, model, own, of.e.clients->load(client, federated::part::train, scratch), client);
  on.train_only(of.e.parts.private_tensors);
  for (const auto& batch : batches) on.step(on.data().slice(batch.first, batch.last), {.rate = lr});
  return {on.weights()[0].data, on.weights()[0].data + on.weights()[0].size()};
}

using items = std::vector<std::uint32_t>;
const std::vector<federated::batch_range> support = {{0, 2}, {4, 6}, {8, 10}};  // even batches of two, of eleven

}  // namespace

BOOST_AUTO_TEST_CASE(support_is_never_used_to_update_nor_query_to_reconstruct) {
  const outcome done(recon({.lr = 0.3F}));
  BOOST_TEST((done.moved_items() == items{2, 3, 6, 7, 10}));
  BOOST_TEST(done.update.weight == 5U);
  BOOST_TEST(done.update.examples == 11U);
  // The user vector came from the support alone and stayed as it was while the items moved.
  BOOST_TEST(same_bits(done.user(), reconstructed(done, support, 0.3F)));
  BOOST_TEST(!done.to_store);
}

BOOST_AUTO_TEST_CASE(private_values_are_drawn_afresh_in_every_round) {
  const outcome first(recon({.max_steps = 1}), 1, 0);  // a single batch: nothing to query, so nothing to report
  BOOST_TEST(first.update.weight == 0U);
  outcome none(recon({.lr = 0.0F}), 11, 4);
  BOOST_TEST(same_bits(none.user(), none.drawn(4)));
  BOOST_TEST(!same_bits(none.user(), none.drawn(5)));
}

BOOST_AUTO_TEST_CASE(the_items_move_on_the_query_batches_with_the_user_frozen) {
  const outcome done(recon({.lr = 0.3F}));
  const auto model = federated::initial_model(done.e);
  models::private_parameters own(done.e.parts.private_);
  std::ranges::copy(done.user(), own.values().begin());
  models::examples scratch;
  models::working_set on;
  on.gather(*done.e.model, done.e.parts, model, own, done.e.clients->load(client, federated::part::train, scratch),
            client);
  on.train_only(done.e.parts.shared_tensors);
  double loss = 0.0;
  for (const std::uint32_t first : {2U, 6U, 10U})
    loss += on.step(on.data().slice(first, std::min(first + 2, 11U)), {.rate = 0.2F});
  models::delta change;
  on.difference(model, change);
  BOOST_TEST(same_bits(done.update.change.values, change.values));
  BOOST_TEST(done.update.loss_sum == loss);
}

BOOST_AUTO_TEST_CASE(split_comes_before_repeat_and_repeat_before_take) {
  auto twice = support;
  twice.insert(twice.end(), support.begin(), support.end());
  BOOST_TEST(same_bits(outcome(recon({.lr = 0.3F, .epochs = 2})).user(), reconstructed(outcome(recon()), twice, 0.3F)));
  const outcome capped(recon({.lr = 0.3F, .epochs = 2, .max_steps = 4}));
  twice.resize(4);
  BOOST_TEST(same_bits(capped.user(), reconstructed(capped, twice, 0.3F)));
  BOOST_TEST(capped.update.examples == 4 * 2 + 5U);
  auto settings = recon();
  settings.client->epochs = 3;
  settings.client->max_steps = 4;  // three query batches (2 + 2 + 1), then the first again
  const outcome updated(settings);
  BOOST_TEST(updated.update.weight == 7U);
}

BOOST_AUTO_TEST_CASE(one_step_reconstruction_is_one_batch) {
  const outcome done(recon({.lr = 0.3F, .epochs = 5, .max_steps = 1}));
  BOOST_TEST(same_bits(done.user(), reconstructed(done, {support[0]}, 0.3F)));
}

BOOST_AUTO_TEST_CASE(without_a_split_both_phases_use_all_batches) {
  const outcome done(recon({.lr = 0.3F, .split = false}));
  BOOST_TEST(done.moved_items().size() == 11U);
  BOOST_TEST(done.update.weight == 11U);
  BOOST_TEST(done.update.examples == 22U);
  const std::vector<federated::batch_range> all = {{0, 2}, {2, 4}, {4, 6}, {6, 8}, {8, 10}, {10, 11}};
  BOOST_TEST(same_bits(done.user(), reconstructed(done, all, 0.3F)));
}

BOOST_AUTO_TEST_CASE(jointly_the_user_moves_on_the_query_too) {
  const outcome done(recon({.lr = 0.3F, .joint = true}));
  BOOST_TEST((done.moved_items() == items{2, 3, 6, 7, 10}));
  BOOST_TEST(!same_bits(done.user(), reconstructed(done, support, 0.3F)));
  // The first query step sees the same user, so item 2 moves as without joint training; later ones do not.
  const outcome apart(recon({.lr = 0.3F}));
  const auto a = models::to_dense(done.update.change);
  const auto b = models::to_dense(apart.update.change);
  const std::size_t cols = (*done.e.parts.shared)[0].cols;
  BOOST_TEST(
      same_bits(std::span(a.values).subspan(2 * cols, 2 * cols), std::span(b.values).subspan(2 * cols, 2 * cols)));
  BOOST_TEST(!same_bits(std::span(a.values).subspan(6 * cols, cols), std::span(b.values).subspan(6 * cols, cols)));
}

BOOST_AUTO_TEST_CASE(the_support_can_be_cut_anew_for_its_own_steps) {
  // Dealt in pairs: examples 0, 1, 4, 5, 8 and 9 support. Cut again in threes: two steps an epoch.
  const outcome done(recon({.lr = 0.3F, .batch_size = 3}));
  BOOST_TEST((done.moved_items() == items{2, 3, 6, 7, 10}));
  BOOST_TEST(done.update.examples == 11U);
  const auto model = federated::initial_model(done.e);
  models::private_parameters own(done.e.parts.private_);
  federated::initial_private(done.e, 0, client, own);
  models::examples scratch;
  models::working_set on;
  on.gather(*done.e.model, done.e.parts, model, own, done.e.clients->load(client, federated::part::train, scratch),
            client);
  const std::vector<std::uint32_t> order = {0, 1, 4, 5, 8, 9, 2, 3, 6, 7, 10};
  on.reorder(order);
  on.train_only(done.e.parts.private_tensors);
  for (const std::uint32_t first : {0U, 3U}) on.step(on.data().slice(first, first + 3), {.rate = 0.3F});
  BOOST_TEST(same_bits(done.user(), {on.weights()[0].data, on.weights()[0].size()}));
}

// (X'X + ridge I) u = X'y over the support's items and ratings, whatever the user was drawn as.
BOOST_AUTO_TEST_CASE(least_squares_gives_the_exact_ridge_solution_on_the_support) {
  for (const bool per_example : {false, true}) {
    const outcome done(recon({.solver = solver_kind::least_squares, .ridge = 0.2F, .ridge_per_example = per_example}));
    const auto user = done.user();
    const auto model = federated::initial_model(done.e);
    const auto& labels = dynamic_cast<const tests::table_population&>(*done.e.clients).tables[client].train.labels;
    std::vector<double> residual(user.size());
    const double ridge = per_example ? 0.2 * 6 : 0.2;
    for (std::size_t c = 0; c < user.size(); ++c) residual[c] = ridge * static_cast<double>(user[c]);
    for (const std::size_t item : {0U, 1U, 4U, 5U, 8U, 9U}) {
      const auto row = model.tensor(0).subspan(item * user.size(), user.size());
      double error = -static_cast<double>(labels[item]);
      for (std::size_t c = 0; c < user.size(); ++c) error += static_cast<double>(row[c]) * user[c];
      for (std::size_t c = 0; c < user.size(); ++c) residual[c] += static_cast<double>(row[c]) * error;
    }
    for (const auto value : residual) BOOST_TEST(std::abs(value) < 1e-4);
    BOOST_TEST((done.moved_items() == items{2, 3, 6, 7, 10}));
    BOOST_TEST(done.update.examples == 11U);
  }
}

BOOST_AUTO_TEST_CASE(shuffled_examples_are_split_in_the_order_of_the_clients_stream) {
  auto settings = recon({.lr = 0.3F});
  settings.client->shuffle = true;
  for (const std::uint64_t version : {0U, 6U}) {
    items order(11);
    std::iota(order.begin(), order.end(), 0U);
    random_stream stream(settings.seed, purpose::shuffle_examples, static_cast<std::uint32_t>(version), client);
    stream.shuffle(std::span(order));
    items expected = {order[2], order[3], order[6], order[7], order[10]};  // odd batches of two
    std::ranges::sort(expected);
    BOOST_TEST((expected != items{2, 3, 6, 7, 10}));
    BOOST_TEST((outcome(settings, 11, version).moved_items() == expected));
  }
}

BOOST_AUTO_TEST_SUITE_END()
