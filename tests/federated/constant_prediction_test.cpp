// What a constant prediction scores, from what the scores of clients say of their labels.
#include "federated/evaluation/constant_prediction.hpp"

#include <cmath>

#include "tests/federated/evaluations.hpp"
#include "tests/support/class_table.hpp"

BOOST_AUTO_TEST_SUITE(constant_predictions)

using namespace furlong;
using federated::client_score;
using federated::pooled_labels;
using models::objective;

namespace {

client_score rated(std::uint64_t examples, double spread) {
  client_score made;
  made.examples = examples;
  made.spread = spread;
  return made;
}

std::optional<federated::constant_prediction> level_of(objective of, const std::vector<client_score>& scores) {
  pooled_labels all;
  for (const auto& one : scores) all.add(one);
  return all.constant(of, 4);
}

client_score tokens(std::uint64_t examples, std::uint64_t words, std::uint64_t inside) {
  client_score made;
  made.examples = examples;
  made.words = words;
  made.inside = inside;
  return made;
}

}  // namespace

BOOST_AUTO_TEST_CASE(the_constant_rating_is_the_mean_of_each_client) {
  // 1 and 3 of one client; 2, 5 and 5 of another; 4 of a third.
  const std::vector all{rated(2, 2.0), rated(3, 6.0), rated(1, 0.0)};
  const auto level = level_of(objective::squared_error, all).value();
  BOOST_TEST(level.loss.value() == 8.0 / 3.0);  // whatever the means are
  BOOST_TEST(!level.accuracy);
  BOOST_TEST(!level_of(objective::squared_error, {}));
  BOOST_TEST(!level_of(objective::squared_error, {rated(5, 0.0)}));  // all the same
  BOOST_TEST(!level_of(objective::squared_error, {rated(1, 0.0)}));
  BOOST_TEST(!level_of(objective::custom, all));
}

BOOST_AUTO_TEST_CASE(a_constant_rating_loses_to_most_clients_whose_errors_are_below_their_spread) {
  const auto loses = [](const std::vector<std::pair<double, double>>& errors_and_spreads) {
    std::vector<client_score> all;
    for (const auto& [errors, spread] : errors_and_spreads) {
      all.push_back(rated(4, spread));
      all.back().squared_error = errors;
    }
    return level_of(objective::squared_error, all).value().loses_to_most;
  };
  BOOST_TEST(loses({{1.0, 2.0}, {1.5, 2.0}, {900.0, 2.0}}));  // the mean is that of one client
  BOOST_TEST(!loses({{1.0, 2.0}, {900.0, 2.0}}));
  BOOST_TEST(!loses({{2.0, 2.0}, {2.0, 2.0}, {1.0, 2.0}}));
}

BOOST_AUTO_TEST_CASE(the_constant_class_is_the_more_frequent_of_two_and_else_any) {
  client_score odds;
  odds.examples = 4;
  odds.odds = {{0.5F, true}, {-1.0F, false}, {0.1F, false}, {0.2F, false}};
  const auto two = level_of(objective::logistic, {odds}).value();
  BOOST_TEST(two.accuracy.value() == 0.75);
  BOOST_TEST(std::abs(two.loss.value() + 0.25 * std::log(0.25) + 0.75 * std::log(0.75)) < 1e-12);
  odds.odds.assign(4, {0.5F, true});
  BOOST_TEST(!level_of(objective::logistic, {odds}));
  const auto four = level_of(objective::categorical, {}).value();
  BOOST_TEST(four.accuracy.value() == 0.25);
  BOOST_TEST(std::abs(four.loss.value() - std::log(4.0)) < 1e-12);
}

BOOST_AUTO_TEST_CASE(the_constant_token_is_the_end_or_an_unknown_word) {
  const auto ends = level_of(objective::next_token, {tokens(10, 5, 6), tokens(10, 6, 8)}).value();
  BOOST_TEST(ends.accuracy.value() == 0.3);
  BOOST_TEST(!ends.loss);
  BOOST_TEST(level_of(objective::next_token, {tokens(10, 3, 9)}).value().accuracy.value() == 0.6);
  BOOST_TEST(!level_of(objective::next_token, {tokens(10, 0, 0)}));
  BOOST_TEST(!level_of(objective::next_token, {tokens(10, 9, 8)}));  // which contradicts itself
}

BOOST_AUTO_TEST_CASE(an_evaluation_knows_the_level_of_each_group) {
  const auto clients = tests::make_ratings(12);
  const auto e = tests::experiment_of("fedavg", {}, clients);
  const auto report = tests::report_of(e, federated::initial_model(e));
  double squares = 0.0;
  double freedom = 0.0;
  for (const auto client : clients->seen) {
    const auto& labels = clients->tables[client].test.labels;
    double sum = 0.0;
    for (const auto label : labels) sum += static_cast<double>(label);
    for (const auto label : labels)
      squares += std::pow(static_cast<double>(label) - sum / static_cast<double>(labels.size()), 2);
    freedom += labels.empty() ? 0.0 : static_cast<double>(labels.size() - 1);
  }
  BOOST_TEST(std::abs(report.seen->constant.value().loss.value() - squares / freedom) < 1e-9);
  BOOST_TEST(report.unseen->constant.has_value());
  const auto texts = tests::class_experiment({}, tests::make_sentences(3));
  BOOST_TEST(tests::report_of(texts, federated::initial_model(texts)).seen->constant.value().accuracy.value() > 0.1);
}

BOOST_AUTO_TEST_SUITE_END()
