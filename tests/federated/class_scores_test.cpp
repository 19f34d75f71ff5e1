// What is scored of models that predict classes: every prediction once, whatever the batches and the clients.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/evaluation/evaluation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/settings/training.hpp"
#include "tests/support/class_table.hpp"

using namespace furlong;
using models::end_token;
using models::start_token;

namespace {

federated::evaluation_report report_of(const federated::experiment& e, const models::shared_parameters& model) {
  federated::evaluation scores(e, {1, model}, nullptr);
  federated::workspace use;
  for (std::size_t i = 0; i < scores.size(); ++i) BOOST_REQUIRE(scores.score(i, use));
  return scores.report();
}

federated::run_settings settings_of(std::uint32_t batch_size) {
  federated::run_settings settings;
  settings.client->batch_size = batch_size;
  return settings;
}

/// One client that trains, words 3 and 4, bucket 5.
std::shared_ptr<tests::table_population> one_reader() {
  auto made = std::make_shared<tests::table_population>();
  made->what = {6, 1, models::objective::next_token, 0, 5};
  made->seen = {0};
  made->tables.resize(1);
  tests::add_text(made->tables[0].train, {start_token, 3, end_token});
  tests::add_text(made->tables[0].test, {start_token, 3, 4, end_token});
  tests::add_text(made->tables[0].test, {start_token, 5, 3, end_token});
  return made;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(class_scores)

BOOST_AUTO_TEST_CASE(a_score_is_finite_when_all_its_numbers_are) {
  const federated::client_score fine{1.0, 2.0, 1, 2, {{0.5F, true}}};
  BOOST_TEST(federated::is_finite(fine));
  for (const float bad : {NAN, INFINITY}) {
    auto score = fine;
    score.squared_error = static_cast<double>(bad);
    BOOST_TEST(!federated::is_finite(score));
    score = fine;
    score.loss = static_cast<double>(bad);
    BOOST_TEST(!federated::is_finite(score));
    score = fine;
    score.odds.emplace_back(bad, false);
    BOOST_TEST(!federated::is_finite(score));
  }
}

BOOST_AUTO_TEST_CASE(perplexity_is_the_exponential_of_the_mean_over_all_predictions) {
  const auto e = tests::class_experiment(settings_of(1), one_reader());
  models::shared_parameters model(e.parts.shared);  // all zero: every token has 1 chance in 5
  // After the start, the word 3 is as likely as all others together.
  model.tensor(0)[std::size_t{start_token} * 5 + 3] = std::log(4.0F);
  const auto seen = report_of(e, model).seen.value();
  // start > 3: 1/2; 3 > 4: 1/5; 4 > end: 1/5; start > unknown (the bucket): 1/8; bucket > 3: 1/5; 3 > end: 1/5
  const double loss = (std::log(2.0) + 4 * std::log(5.0) + std::log(8.0)) / 6.0;
  BOOST_TEST(seen.examples == 6U);
  BOOST_TEST(seen.clients == 1U);
  BOOST_TEST(std::abs(seen.loss - loss) < 1e-6);
  BOOST_TEST(std::abs(seen.perplexity.value() - std::exp(loss)) < 1e-5);
  // Right is the 3 after the start alone; of words 3, 4 and 3 are asked for, and before an end the bucket too. Equal
  // odds: the first token is taken.
  BOOST_TEST(std::abs(seen.accuracy.value() - 1.0 / 6.0) < 1e-12);
  BOOST_TEST(std::abs(seen.accuracy_words.value() - 1.0 / 3.0) < 1e-12);
  BOOST_TEST(std::abs(seen.accuracy_no_end.value() - 1.0 / 4.0) < 1e-12);
  BOOST_TEST(!seen.rmse.has_value());
  BOOST_TEST(!seen.auc.has_value());
}

BOOST_AUTO_TEST_CASE(how_sentences_are_batched_does_not_matter) {
  const auto model_of = [](const federated::experiment& e) { return federated::initial_model(e); };
  const auto one = tests::class_experiment(settings_of(1), tests::make_sentences(3));
  const auto expected = report_of(one, model_of(one));
  for (const std::uint32_t size : {2U, 3U, 7U, 0U}) {
    const auto e = tests::class_experiment(settings_of(size), tests::make_sentences(3));
    const auto found = report_of(e, model_of(e));
    BOOST_TEST(found.seen->examples == expected.seen->examples);
    BOOST_TEST((found.seen->accuracy == expected.seen->accuracy));
    BOOST_TEST(std::abs(found.seen->loss - expected.seen->loss) < 1e-9);
    BOOST_TEST(found.seen->accuracy_words.value() == expected.seen->accuracy_words.value());
    BOOST_TEST(found.seen->accuracy_no_end.value() == expected.seen->accuracy_no_end.value());
  }
}

BOOST_AUTO_TEST_CASE(a_class_is_predicted_once_a_text) {
  auto made = std::make_shared<tests::table_population>();
  made->what = {3, 1, models::objective::categorical, 4, 0};
  made->seen = {0};
  made->tables.resize(1);
  tests::add_text(made->tables[0].train, {0}, 1.0F);
  tests::add_text(made->tables[0].test, {0, 1, 2}, 3.0F);
  tests::add_text(made->tables[0].test, {2, 1}, 0.0F);
  const auto e = tests::class_experiment(settings_of(1), made);
  models::shared_parameters model(e.parts.shared);
  model.tensor(0)[2 * 4 + 3] = std::log(3.0F);  // after token 2, class 3 has even odds
  const auto seen = report_of(e, model).seen.value();
  BOOST_TEST(seen.examples == 2U);
  BOOST_TEST(seen.accuracy.value() == 1.0);
  BOOST_TEST(std::abs(seen.loss - (std::log(2.0) + std::log(4.0)) / 2.0) < 1e-6);
  BOOST_TEST(!seen.perplexity.has_value());
  BOOST_TEST(!seen.accuracy_words.has_value());
  BOOST_TEST(!seen.accuracy_no_end.has_value());
}

BOOST_AUTO_TEST_CASE(texts_of_unseen_clients_are_scored_in_full_or_by_half) {
  auto settings = settings_of(2);
  const auto clients = tests::make_sentences(3);
  clients->tables[clients->held_out_test[0]].test = {};
  const auto predictions = [&](std::size_t first, std::size_t last) {
    const auto view = clients->tables[clients->held_out_test[0]].train.view();
    return view.offsets[last] - view.offsets[first] - (last - first);
  };
  const auto whole = tests::class_experiment(settings, clients);
  const auto report = report_of(whole, federated::initial_model(whole));
  BOOST_TEST(report.unseen->examples == predictions(0, 7));
  BOOST_TEST(report.validation.has_value());
  settings.evaluation->split = true;
  const auto halved = tests::class_experiment(settings, clients);
  BOOST_TEST(report_of(halved, federated::initial_model(halved)).unseen->examples ==
             predictions(1, 2) + predictions(3, 4) + predictions(5, 6));
}

BOOST_AUTO_TEST_SUITE_END()

BOOST_AUTO_TEST_SUITE(dropout)

namespace {

federated::client_update update_of(const federated::experiment& e, std::uint64_t version, std::uint32_t client) {
  const federated::broadcast from{e.run, version, federated::initial_model(e), {}};
  federated::workspace use;
  federated::client_update update;
  federated::client_work(e, from, {e.run, version, client, 0}, false, use, update);
  BOOST_TEST(update.weight > 0U);
  return update;
}

}  // namespace

BOOST_AUTO_TEST_CASE(what_is_dropped_follows_from_seed_version_and_client) {
  auto settings = settings_of(3);
  *settings.algorithm = federated::chosen_algorithm("fedavg");
  settings.client->epochs = 2;
  auto clients = tests::make_sentences(5);
  clients->tables[1].train = clients->tables[0].train;  // so that only the client's number differs
  const auto e = tests::class_experiment(settings, clients, {}, true);
  const auto first = update_of(e, 4, 0);
  BOOST_TEST(tests::same_bits(update_of(e, 4, 0).change.values, first.change.values));
  BOOST_TEST(!tests::same_bits(update_of(e, 5, 0).change.values, first.change.values));
  BOOST_TEST(!tests::same_bits(update_of(e, 4, 1).change.values, first.change.values));
  settings.seed = 2;
  auto other = e;
  other.settings.seed = 2;
  const federated::broadcast from{e.run, 4, federated::initial_model(e), {}};
  federated::workspace use;
  federated::client_update update;
  federated::client_work(other, from, {e.run, 4, 0, 0}, false, use, update);
  BOOST_TEST(!tests::same_bits(update.change.values, first.change.values));
}

BOOST_AUTO_TEST_CASE(nothing_is_dropped_in_reconstruction_and_evaluation) {
  auto settings = settings_of(1);  // 7 sentences: 4 batches of support, 3 of query
  *settings.algorithm = federated::chosen_algorithm("fedrecon");
  settings.evaluation->reconstruct = {"bias"};
  const auto e = tests::class_experiment(settings, tests::make_sentences(5), {"bias"}, true);
  const auto& model = dynamic_cast<const tests::class_table&>(*e.model);
  static_cast<void>(update_of(e, 0, 0));
  BOOST_TEST(model.steps_without_noise == 4);
  BOOST_TEST(model.steps_with_noise == 3);
  static_cast<void>(report_of(e, models::shared_parameters(e.parts.shared)));
  BOOST_TEST(model.steps_without_noise > 4);
  BOOST_TEST(model.steps_with_noise == 3);
}

BOOST_AUTO_TEST_SUITE_END()
