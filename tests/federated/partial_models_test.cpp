// FedRep, FedAlt, FedBABU and FedSim (FURL's private_lr): what follows from their definitions.
#include <boost/test/unit_test.hpp>

#include "federated/client/client_work.hpp"
#include "federated/client/inference.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(partial_models)

using namespace furlong;
using tests::same_bits;

namespace {

constexpr std::uint32_t client = 9;
const auto ratings = tests::make_ratings(8);

federated::run_settings settings_of(std::string_view kind, const option_values& options = {}) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind, options);
  settings.rounds = 8;
  *settings.client = {.lr = 0.2F, .epochs = 2, .batch_size = 3};
  return settings;
}

federated::experiment made(const federated::run_settings& settings) {
  return tests::make_experiment(settings, ratings, {{"item_bias", true}, {"user_bias", true}, {"init", 0.5}},
                                {"user", "user_bias"});
}

struct work {
  federated::client_update update;
  federated::workspace use;
  bool kept;

  explicit work(const federated::run_settings& settings, std::uint64_t version = 0) {
    const auto e = made(settings);
    const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
    kept = federated::client_work(e, from, {e.run, version, client, 0}, false, use, update);
  }
};

option_values option(std::string name, option_value value) {
  option_values all;
  all.set(std::move(name), std::move(value));
  return all;
}

/// SGD by hand: private and shared tensors of a client, one phase after the other.
struct by_hand {
  federated::experiment e;
  models::shared_parameters model;
  models::private_parameters own;
  models::working_set on;

  explicit by_hand(const federated::run_settings& settings)
      : e(made(settings)), model(federated::initial_model(e)), own(e.parts.private_) {
    federated::initial_private(e, 0, client, own);
    on.gather(*e.model, e.parts, model, own, ratings->tables[client].train.view(), client);
  }
  void train(std::span<const std::size_t> tensors, std::uint32_t epochs, float rate) {
    on.train_only(tensors);
    std::vector<federated::batch_range> batches;
    federated::cut_batches(0, static_cast<std::uint32_t>(on.data().size()), 3, batches);
    federated::run_batches(on, batches, epochs, 0, {.rate = rate});
  }
  void check(const work& done) {
    models::delta change;
    on.difference(model, change);
    BOOST_TEST(same_bits(done.update.change.values, change.values));
    on.copy_private(own);
    if (done.kept) BOOST_TEST(same_bits(done.use.own.values(), own.values()));
  }
};

}  // namespace

BOOST_AUTO_TEST_CASE(fedrep_trains_the_head_then_the_body) {
  const auto settings = settings_of("fedrep", option("head_epochs", std::int64_t{4}));
  const work done(settings);
  by_hand expected(settings);
  expected.train(expected.e.parts.private_tensors, 4, 0.2F);
  expected.train(expected.e.parts.shared_tensors, 2, 0.2F);
  BOOST_TEST(done.kept);
  expected.check(done);
  const auto count = expected.on.data().size();
  BOOST_TEST(done.update.weight == 2 * count);  // the head makes no update
  BOOST_TEST(done.update.examples == 6 * count);
}

BOOST_AUTO_TEST_CASE(fedalt_has_another_learning_rate_for_the_private_tensors) {
  auto options = option("private_epochs", std::int64_t{3});
  options.set("private_lr", 0.05);
  const auto settings = settings_of("fedalt", options);
  const work done(settings);
  by_hand expected(settings);
  expected.train(expected.e.parts.private_tensors, 3, 0.05F);
  expected.train(expected.e.parts.shared_tensors, 2, 0.2F);
  BOOST_TEST(done.kept);
  expected.check(done);
}

BOOST_AUTO_TEST_CASE(fedalt_without_private_epochs_is_fedavg_on_the_shared_tensors) {
  const auto settings = settings_of("fedalt", option("private_epochs", std::int64_t{0}));
  const work done(settings);
  by_hand expected(settings);
  expected.train(expected.e.parts.shared_tensors, 2, 0.2F);
  BOOST_TEST(done.kept);
  expected.check(done);  // the private ones are as drawn
  BOOST_TEST(done.update.examples == done.update.weight);
}

BOOST_AUTO_TEST_CASE(fedrep_is_fedalt_at_the_rate_of_the_client) {
  const work head(settings_of("fedrep", option("head_epochs", std::int64_t{3})), 5);
  const work alternating(settings_of("fedalt", option("private_epochs", std::int64_t{3})), 5);
  BOOST_TEST(same_bits(head.update.change.values, alternating.update.change.values));
  BOOST_TEST(same_bits(head.use.own.values(), alternating.use.own.values()));
}

BOOST_AUTO_TEST_CASE(furl_at_one_rate_is_furl_and_at_two_is_fedsim) {
  using models::local_optimizer;
  for (const auto optimizer : {local_optimizer::sgd, local_optimizer::adam, local_optimizer::adamw})
    for (const float momentum : {0.0F, 0.5F}) {
      const auto with = [&](const option_values& options, std::uint32_t epochs) {
        auto settings = settings_of("furl", options);
        *settings.client = {.lr = 0.2F, .optimizer = optimizer, .epochs = epochs, .batch_size = 3};
        settings.client->momentum = optimizer == local_optimizer::sgd ? momentum : 0.0F;
        settings.client->max_steps = epochs == 1 ? 1 : 0;
        return settings;
      };
      const work plain(with({}, 3));
      const work same(with(option("private_lr", static_cast<double>(0.2F)), 3));
      BOOST_TEST(same_bits(plain.update.change.values, same.update.change.values));
      BOOST_TEST(same_bits(plain.use.own.values(), same.use.own.values()));
      // One step: the shared tensors as at the one rate, the private ones as at the other.
      const work two(with(option("private_lr", 0.05), 1));
      BOOST_TEST(same_bits(two.update.change.values, work(with({}, 1)).update.change.values));
      auto slower = with({}, 1);
      slower.client->lr = 0.05F;
      BOOST_TEST(same_bits(two.use.own.values(), work(slower).use.own.values()));
    }
}

BOOST_AUTO_TEST_CASE(private_learning_rates_follow_the_schedule) {
  for (const std::string_view kind : {"furl", "fedalt"}) {
    auto linear = settings_of(kind, option("private_lr", 0.5));
    linear.client->schedule = federated::schedule_kind::linear;
    auto constant = settings_of(kind, option("private_lr", 0.25));
    constant.client->lr = 0.1F;
    const work a(linear, 4);  // of 8 rounds
    const work b(constant, 4);
    BOOST_TEST(same_bits(a.update.change.values, b.update.change.values));
    BOOST_TEST(same_bits(a.use.own.values(), b.use.own.values()));
  }
}

BOOST_AUTO_TEST_CASE(whoever_keeps_private_tensors_can_start_from_reconstructed_ones) {
  for (const std::string_view kind : {"fedrep", "fedalt"}) {
    auto settings = settings_of(kind);
    settings.own->cold_start = federated::cold_start_kind::reconstruct;
    *settings.reconstruction = {.lr = 0.3F, .epochs = 4};
    by_hand expected(settings);
    expected.train(expected.e.parts.private_tensors, 4, 0.3F);
    expected.train(expected.e.parts.private_tensors, kind == "fedrep" ? 10 : 1, 0.2F);
    expected.train(expected.e.parts.shared_tensors, 2, 0.2F);
    expected.check(work(settings));
  }
}

BOOST_AUTO_TEST_CASE(fedbabu_never_trains_the_head_which_all_have_in_common) {
  const auto settings = settings_of("fedbabu");
  const work done(settings);
  by_hand expected(settings);
  const auto e = made(settings);
  // The values that the tensors have where they are shared.
  const auto shared = tests::make_experiment(settings_of("fedavg"), ratings,
                                             {{"item_bias", true}, {"user_bias", true}, {"init", 0.5}}, {});
  const auto model = federated::initial_model(shared);
  models::private_parameters other(e.parts.private_);
  federated::initial_private(e, 7, client + 1, other);
  for (const auto t : e.parts.private_tensors) {
    const auto slot = e.parts.slots[t].tensor;
    BOOST_TEST(same_bits(expected.own.tensor(slot), model.tensor(shared.parts.slots[t].tensor)));
    BOOST_TEST(same_bits(expected.own.tensor(slot), other.tensor(slot)));
  }
  const auto head = expected.own;
  expected.train(e.parts.shared_tensors, 2, 0.2F);
  expected.check(done);
  BOOST_TEST(!done.kept);
  BOOST_TEST(same_bits(done.use.own.values(), head.values()));
}

// Seen or not, or somebody new: the common head, or all tensors, fine-tuned on the own examples.
BOOST_AUTO_TEST_CASE(fedbabu_serves_everybody_after_fine_tuning) {
  auto settings = settings_of("fedbabu");
  *settings.reconstruction = {.lr = 0.3F, .epochs = 5};
  for (const std::vector<std::string>& tuned : {std::vector<std::string>{"user", "user_bias"}, {"user", "item"}, {}}) {
    settings.evaluation->reconstruct = tuned;
    const auto e = made(settings);
    const auto model = federated::initial_model(e);
    const auto& own = ratings->tables[client].train;
    by_hand expected(settings);
    std::vector<std::size_t> tensors;
    for (const auto& name : tuned) tensors.push_back(e.parts.model->find(name).value());
    std::ranges::sort(tensors);
    if (!tuned.empty()) expected.train(tensors, 5, 0.3F);
    std::vector<float> guesses(expected.on.data().size());
    e.model->predict(expected.on.weights(), expected.on.data(), guesses);
    for (const std::optional<std::uint32_t> who : {std::optional(client), std::optional<std::uint32_t>()}) {
      const auto got = federated::predict_examples(e, model, nullptr, who, own.view(), own.view()).value();
      BOOST_TEST(to_string(got.source) == (tuned.empty() ? "initial" : "fine-tuned"));
      BOOST_TEST(same_bits(got.predictions, guesses));
    }
    const auto unseen = e.clients->unseen_test().front();
    const auto known = ratings->tables[unseen].train.view();
    const auto got = federated::predict_all_features(e, model, nullptr, unseen, known).value();
    BOOST_TEST(to_string(got.source) == (tuned.empty() ? "initial" : "fine-tuned"));
  }
}

BOOST_AUTO_TEST_SUITE_END()
