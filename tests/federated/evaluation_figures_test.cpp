// The figures of an evaluation by name.
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "federated/evaluation/evaluation.hpp"
#include "tests/support/custom_model.hpp"

BOOST_AUTO_TEST_SUITE(evaluations)

using namespace furlong;

BOOST_AUTO_TEST_CASE(what_is_not_finite_in_a_score_is_named) {
  const auto model = tests::model_with(models::objective::custom, {{"recall", false}, {"share", false}});
  federated::client_score score;
  score.metrics = {{1.0, 2.0}, {NAN, 1.0}};
  BOOST_TEST(!federated::is_finite(score));
  BOOST_TEST(federated::not_finite(score, *model) == "share");
  score.loss = INFINITY;
  BOOST_TEST(federated::not_finite(score, *model) == "loss");
  score = {};
  score.odds = {{0.5F, true}, {NAN, false}};
  BOOST_TEST(federated::not_finite(score, *model) == "prediction");
}

BOOST_AUTO_TEST_CASE(figures_are_found_by_name) {
  federated::evaluation_report report;
  federated::group_metrics figures;
  figures.loss = 0.3;
  figures.accuracy = 0.4;
  figures.rmse = 0.5;
  report.seen = figures;
  figures = {};
  figures.loss = 0.6;
  figures.accuracy = 0.7;
  figures.auc = 0.8;
  figures.perplexity = 9.0;
  figures.accuracy_words = 0.2;
  figures.accuracy_no_end = 0.25;
  report.unseen = figures;
  const std::pair<const char*, std::optional<double>> expected[] = {{"seen.loss", 0.3},
                                                                    {"seen.accuracy", 0.4},
                                                                    {"seen.rmse", 0.5},
                                                                    {"seen.auc", {}},
                                                                    {"unseen.loss", 0.6},
                                                                    {"unseen.auc", 0.8},
                                                                    {"unseen.rmse", {}},
                                                                    {"unseen.accuracy", 0.7},
                                                                    {"validation.loss", {}},
                                                                    {"validation.rmse", {}},
                                                                    {"unseen.perplexity", 9.0},
                                                                    {"unseen.accuracy_words", 0.2},
                                                                    {"unseen.accuracy_no_end", 0.25},
                                                                    {"seen.perplexity", {}}};
  for (const auto& [name, value] : expected) {
    BOOST_TEST((federated::metric_of(report, name) == value), name);
    BOOST_TEST(federated::valid_metric(name), name);
  }
  for (const char* name : {"", ".", "seen", "seen.", ".loss", "loss", "seen.clients", "seen.loss.", "test.loss",
                           "seenloss", "eval.seen.loss", "seen loss"}) {
    BOOST_TEST(!federated::valid_metric(name), name);
    BOOST_TEST(!federated::metric_of(report, name).has_value(), name);
  }
  using models::objective;
  const auto valid = [](const char* name, objective of, std::vector<models::model_metric> own = {}) {
    return federated::valid_metric(name, tests::model_with(of, std::move(own)).get());
  };
  BOOST_TEST(valid("seen.perplexity", objective::next_token));
  for (const auto other : {objective::squared_error, objective::logistic, objective::categorical, objective::custom}) {
    BOOST_TEST(!valid("seen.perplexity", other));
    BOOST_TEST(!valid("seen.accuracy_words", other));
    BOOST_TEST(!valid("seen.accuracy_no_end", other));
    BOOST_TEST(valid("seen.auc", other) == (other == objective::logistic));
    BOOST_TEST(valid("seen.rmse", other) == (other == objective::squared_error));
    BOOST_TEST(valid("seen.accuracy", other) == (other != objective::custom));
    BOOST_TEST(valid("seen.loss", other));
  }
  BOOST_TEST(federated::figure_names(tests::model_with(objective::categorical).get()) == "accuracy or loss");
}

BOOST_AUTO_TEST_CASE(a_model_has_figures_of_its_own) {
  const auto own = tests::model_with(models::objective::custom, {{"recall", false}, {"mse", true}});
  BOOST_TEST(federated::figure_names(own.get()) == "recall, mse or loss");
  BOOST_TEST(federated::valid_metric("unseen.recall", own.get()));
  BOOST_TEST(!federated::valid_metric("unseen.other", own.get()));
  federated::evaluation_report report;
  report.unseen.emplace().custom = {{"recall", 0.5, false}, {"mse", 2.0, true}};
  BOOST_TEST((federated::metric_of(report, "unseen.mse") == 2.0));
  BOOST_TEST(federated::smaller_is_better(report, "unseen.mse"));
  BOOST_TEST(!federated::smaller_is_better(report, "unseen.recall"));
  BOOST_TEST(!federated::metric_of(report, "unseen.other").has_value());
}

BOOST_AUTO_TEST_SUITE_END()
