#include "federated/client/inference.hpp"

#include <boost/test/unit_test.hpp>

#include "federated/evaluation/evaluation.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "storage/memory_store.hpp"
#include "tests/support/experiments.hpp"
#include "tests/support/ratings_population.hpp"

BOOST_AUTO_TEST_SUITE(inferences)

using namespace furlong;
using federated::personal_source;

namespace {

const auto ratings = tests::make_ratings(17);

federated::experiment experiment_of(std::string_view kind, std::vector<std::string> reconstruct) {
  federated::run_settings settings;
  *settings.algorithm = federated::chosen_algorithm(kind);
  settings.client->batch_size = 3;
  *settings.reconstruction = {.lr = 0.3F, .epochs = 2};
  settings.evaluation->reconstruct = std::move(reconstruct);
  return tests::make_experiment(settings, ratings, {{"item_bias", true}, {"init", 0.5}}, {"user"});
}

/// item_bias + <user, item> for every item.
std::vector<double> scores(const federated::experiment& e, const models::shared_parameters& model,
                           std::span<const float> user) {
  std::vector<double> out;
  for (std::uint32_t item = 0; item < ratings->what.features; ++item) {
    double score = model.tensor(1)[item];
    for (std::size_t c = 0; c < user.size(); ++c)
      score += static_cast<double>(user[c]) * model.tensor(0)[item * user.size() + c];
    out.push_back(score);
  }
  BOOST_REQUIRE((*e.parts.shared)[1].name == "item_bias");
  return out;
}

void check(const federated::inference& got, personal_source source, const std::vector<double>& expected) {
  BOOST_TEST(to_string(got.source) == to_string(source));
  BOOST_REQUIRE(got.predictions.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) BOOST_TEST(std::abs(got.predictions[i] - expected[i]) < 1e-5);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_seen_client_is_served_from_the_store) {
  const auto e = experiment_of("furl", {"user"});
  const auto model = federated::initial_model(e);
  storage::memory_store store(e.parts.private_);
  models::private_parameters own(e.parts.private_);
  for (auto& value : own.values()) value = 0.75F;
  BOOST_REQUIRE(store.commit(6, 3, own));
  const auto known = ratings->tables[6].train.view();
  check(predict_all_features(e, model, &store, 6, known).value(), personal_source::stored,
        scores(e, model, own.values()));
  check(predict_all_features(e, model, &store, 6, {}).value(), personal_source::stored, scores(e, model, own.values()));
}

// Of nobody stored: what evaluation scores such a client with, seen or not.
BOOST_AUTO_TEST_CASE(a_client_without_stored_values_is_served_as_it_is_scored) {
  auto e = experiment_of("furl", {"user"});
  const auto model = federated::initial_model(e);
  storage::memory_store store(e.parts.private_);
  const auto source_of = [&](std::uint32_t client) {
    const auto known = ratings->tables[client].train.view();
    return std::string(to_string(predict_all_features(e, model, &store, client, known).value().source));
  };
  const std::uint32_t seen = 7;
  const auto unseen = e.clients->unseen_test().front();
  models::private_parameters own(e.parts.private_);
  federated::initial_private(e, 0, unseen, own);
  const auto known = ratings->tables[unseen].train.view();
  check(predict_all_features(e, model, &store, unseen, known).value(), personal_source::initial,
        scores(e, model, own.values()));
  BOOST_TEST(source_of(seen) == "initial");
  e.settings.own->cold_start = federated::cold_start_kind::reconstruct;
  BOOST_TEST(source_of(seen) == "reconstructed");
  BOOST_TEST(source_of(unseen) == "reconstructed");
  e.settings.evaluation->reconstruct = {"user", "item"};
  BOOST_TEST(source_of(seen) == "fine-tuned");
  BOOST_TEST(source_of(unseen) == "reconstructed");
}

BOOST_AUTO_TEST_CASE(somebody_new_is_reconstructed_from_all_their_examples) {
  for (const std::string_view kind : {"furl", "fedrecon"}) {
    const auto e = experiment_of(kind, {"user"});
    const auto model = federated::initial_model(e);
    const auto& data = ratings->tables[6].train;
    federated::workspace use;
    use.own = models::private_parameters(e.parts.private_);
    federated::initial_private(e, 0, 0, use.own);
    use.weights.gather(*e.model, e.parts, model, use.own, data.view(), 0);
    federated::cut_batches(0, static_cast<std::uint32_t>(data.labels.size()), 3, use.batches);
    federated::reconstruct(*e.model, use.weights, e.parts.private_tensors, use.batches, *e.settings.reconstruction,
                           use.solver);
    use.weights.copy_private(use.own);
    check(predict_all_features(e, model, nullptr, std::nullopt, data.view()).value(), personal_source::reconstructed,
          scores(e, model, use.own.values()));
  }
}

BOOST_AUTO_TEST_CASE(all_clients_are_rebuilt_in_the_batches_of_training) {
  auto e = experiment_of("fedrecon", {"user"});
  const auto model = federated::initial_model(e);
  const auto predicted = [&](std::uint32_t client) {
    return predict_all_features(e, model, nullptr, client, ratings->tables[client].train.view()).value().predictions;
  };
  const auto unseen = e.clients->unseen_test().front();
  const auto before = std::pair(predicted(7), predicted(unseen));
  e.settings.evaluation->batch_size = 1;
  BOOST_TEST((predicted(7) == before.first));
  BOOST_TEST((predicted(unseen) == before.second));
  e.settings.client->batch_size = 1;
  BOOST_TEST((predicted(7) != before.first));
  BOOST_TEST((predicted(unseen) != before.second));
  e.settings.reconstruction->batch_size = 3;
  BOOST_TEST((predicted(7) == before.first));
  BOOST_TEST((predicted(unseen) == before.second));
}

BOOST_AUTO_TEST_CASE(without_examples_the_values_before_training_serve) {
  const auto e = experiment_of("fedrecon", {"user"});
  const auto model = federated::initial_model(e);
  models::private_parameters own(e.parts.private_);
  federated::initial_private(e, 0, 0, own);
  check(predict_all_features(e, model, nullptr, std::nullopt, {}).value(), personal_source::initial,
        scores(e, model, own.values()));
}

// Sparse vectors: each question names one feature, whatever the examples before it look like.
BOOST_AUTO_TEST_CASE(a_classifier_answers_for_every_feature_too) {
  const auto classes = tests::make_classes(17);
  const auto e = tests::make_experiment({}, classes, {}, {});
  models::shared_parameters model(e.parts.shared);
  for (std::size_t i = 0; i < model.values().size(); ++i) model.values()[i] = static_cast<float>(i) - 7.0F;
  const float bias = model.tensor(1)[0];
  for (const auto& known : {classes->tables[6].train.view(), models::examples_view{}}) {
    const auto got = predict_all_features(e, model, nullptr, std::nullopt, known).value();
    BOOST_TEST(to_string(got.source) == "model");
    BOOST_REQUIRE(got.predictions.size() == classes->what.features);
    for (std::size_t i = 0; i < got.predictions.size(); ++i)
      BOOST_TEST(got.predictions[i] == model.tensor(0)[i] + bias);
  }
}

BOOST_AUTO_TEST_SUITE_END()
