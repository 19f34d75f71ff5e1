// The probabilities of classes and tokens.
#include "models/class_model.hpp"

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <numeric>

#include "tests/models/model_cases.hpp"

BOOST_AUTO_TEST_SUITE(class_model)

using namespace furlong;

namespace {

/// The loss of the scores of an example's features up to, and without, number `last`.
double loss_up_to(const tests::model_case& of, std::vector<float>& weights, models::examples_view example,
                  std::uint32_t last) {
  const std::uint32_t offsets[] = {example.offsets[0], last};
  example.offsets = offsets;
  models::class_scores scores;
  of.model->score(of.views(weights), example, scores);
  return scores.loss;
}

}  // namespace

// They add up to 1, the most likely one is what is predicted, and the loss of a label is their negative logarithm.
BOOST_AUTO_TEST_CASE(probabilities_are_those_of_the_predictions_and_of_the_scores) {
  for (auto& one : tests::model_cases()) {
    const auto* const model = dynamic_cast<const models::class_model*>(one.model.get());
    const auto kind = one.model->objective();
    const bool sequences = kind == models::objective::next_token;
    if (sequences || kind == models::objective::categorical) BOOST_TEST((model != nullptr), one.name);
    if (model == nullptr || one.name.find("protocol=") != std::string::npos) continue;
    BOOST_TEST_CONTEXT(one.name) {
      for (std::size_t i = 0; i < one.data.labels.size(); ++i) {
        const auto example = one.data.view().slice(i, i + 1);
        const auto end = example.offsets[1] - (sequences ? 1 : 0);  // the last token of a sentence is what is asked for
        const std::uint32_t offsets[] = {example.offsets[0], end};
        auto question = example;
        question.offsets = offsets;
        std::vector<float> chances(model->classes());
        model->probabilities(one.views(one.weights), question, chances);
        BOOST_TEST(std::accumulate(chances.begin(), chances.end(), 0.0) == 1.0, boost::test_tools::tolerance(1e-5));
        float said = 0.0F;
        model->predict(one.views(one.weights), question, {&said, 1});
        if (kind == models::objective::logistic) {
          BOOST_TEST(1.0F / (1.0F + std::exp(-said)) == chances[1], boost::test_tools::tolerance(1e-5F));
          continue;
        }
        BOOST_TEST(said == static_cast<float>(std::ranges::max_element(chances) - chances.begin()));
        auto right = sequences ? one.data.features[end] : static_cast<std::uint32_t>(example.labels[0]);
        if (sequences && right >= model->classes()) right = models::unknown_token;
        const double loss = loss_up_to(one, one.weights, example, example.offsets[1]) -
                            (sequences ? loss_up_to(one, one.weights, example, end) : 0.0);
        BOOST_TEST(loss == -std::log(static_cast<double>(chances[right])), boost::test_tools::tolerance(1e-4));
      }
    }
  }
}

// Rows come in the order of the examples, not in that of the packing.
BOOST_AUTO_TEST_CASE(probabilities_do_not_depend_on_the_batch) {
  for (auto& one : tests::model_cases()) {
    const auto* const model = dynamic_cast<const models::class_model*>(one.model.get());
    if (model == nullptr) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const auto n = model->classes();
      std::vector<float> together(one.data.labels.size() * n);
      model->probabilities(one.views(one.weights), one.data.view(), together);
      for (std::size_t i = 0; i < one.data.labels.size(); ++i) {
        std::vector<float> alone(n);
        model->probabilities(one.views(one.weights), one.data.view().slice(i, i + 1), alone);
        for (std::uint32_t c = 0; c < n; ++c)
          BOOST_TEST(together[i * n + c] == alone[c], boost::test_tools::tolerance(1e-4F));
      }
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
