// What every model must be, registered today or later: its gradient is the derivative of its loss, a frozen tensor
// changes nothing for the others, predictions are what the loss is about, and an affine design gives the predictions.
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>

#include "tests/models/model_cases.hpp"

using namespace furlong;
using tests::model_case;

namespace {

std::vector<bool> nothing_frozen(const model_case& of) {
  return std::vector<bool>(of.model->tensors()->count(), false);
}

double mean_loss(const model_case& of, std::vector<float>& weights) {
  return tests::gradient_of(of, weights, nothing_frozen(of)).loss / static_cast<double>(of.data.labels.size());
}

/// The loss that predictions alone imply, without penalties.
double loss_of_predictions(const model_case& of, std::vector<float>& weights) {
  std::vector<float> predictions(of.data.labels.size());
  of.model->predict(of.views(weights), of.data.view(), predictions);
  double sum = 0.0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const double guess = predictions[i];
    const double label = of.data.labels[i];
    sum += of.model->objective() == models::objective::squared_error ? (label - guess) * (label - guess)
                                                                     : std::log1p(std::exp(guess)) - label * guess;
  }
  return sum;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

BOOST_AUTO_TEST_SUITE(model_conformance)

BOOST_AUTO_TEST_CASE(every_registered_model_has_cases) {
  for (const auto& entry : models::registered_models()) {
    bool found = false;
    for (const auto& one : tests::model_cases()) found = found || one.name.starts_with(entry.kind);
    BOOST_TEST(found, entry.kind);
  }
}

BOOST_AUTO_TEST_CASE(the_gradient_is_the_central_difference_of_the_mean_loss) {
  for (auto& one : tests::model_cases()) {
    BOOST_TEST_CONTEXT(one.name) {
      const auto written = tests::gradient_of(one, one.weights, nothing_frozen(one));
      const auto& shape = *one.model->tensors();
      for (std::size_t t = 0; t < shape.count(); ++t)
        for (std::size_t i = 0; i < shape[t].size(); ++i) {
          auto moved = one.weights;
          auto& weight = moved[shape.offset(t) + i];
          const float at = weight;
          weight = at + 0.01F;
          const double high = weight;
          const double above = mean_loss(one, moved);
          weight = at - 0.01F;
          const double slope = (above - mean_loss(one, moved)) / (high - static_cast<double>(weight));
          BOOST_TEST(std::abs(slope - written.tensors[t][i]) < 4e-4 * (1 + std::abs(slope)),
                     shape[t].name << "[" << i << "]: " << slope << " against " << written.tensors[t][i]);
        }
    }
  }
}

BOOST_AUTO_TEST_CASE(freezing_any_tensors_leaves_the_others_gradients_as_they_are) {
  for (auto& one : tests::model_cases()) {
    BOOST_TEST_CONTEXT(one.name) {
      const auto all = tests::gradient_of(one, one.weights, nothing_frozen(one));
      const std::size_t tensors = one.model->tensors()->count();
      for (std::size_t subset = 1; subset < std::size_t{1} << tensors; ++subset) {
        auto frozen = nothing_frozen(one);
        for (std::size_t t = 0; t < tensors; ++t) frozen[t] = (subset >> t & 1) != 0;
        const auto some = tests::gradient_of(one, one.weights, frozen);
        BOOST_TEST(some.loss == all.loss);
        for (std::size_t t = 0; t < tensors; ++t)
          if (!frozen[t])
            BOOST_TEST(same_bits(some.tensors[t], all.tensors[t]), "tensor " << t << ", subset " << subset);
      }
    }
  }
}

BOOST_AUTO_TEST_CASE(the_loss_is_that_of_the_predictions) {
  for (auto& one : tests::model_cases()) {
    if (one.name.find("+l2") != std::string::npos) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const double loss = tests::gradient_of(one, one.weights, nothing_frozen(one)).loss;
      BOOST_TEST(std::abs(loss - loss_of_predictions(one, one.weights)) < 1e-5 * loss);
    }
  }
}

BOOST_AUTO_TEST_CASE(a_penalty_only_adds_and_is_nothing_at_zero) {
  for (auto& one : tests::model_cases()) {
    if (one.name.find("+l2") == std::string::npos) continue;
    BOOST_TEST_CONTEXT(one.name) {
      BOOST_TEST(mean_loss(one, one.weights) * static_cast<double>(one.data.labels.size()) >
                 loss_of_predictions(one, one.weights) + 1e-3);
      std::vector<float> zero(one.weights.size(), 0.0F);
      BOOST_TEST(mean_loss(one, zero) * static_cast<double>(one.data.labels.size()) == loss_of_predictions(one, zero),
                 boost::test_tools::tolerance(1e-6));
    }
  }
}

BOOST_AUTO_TEST_CASE(an_affine_design_reproduces_the_predictions) {
  std::size_t affine = 0;
  for (auto& one : tests::model_cases(true)) {
    const auto& shape = *one.model->tensors();
    for (std::size_t subset = 1; subset < std::size_t{1} << shape.count(); ++subset) {
      std::vector<std::size_t> tensors;
      std::vector<float> w;
      for (std::size_t t = 0; t < shape.count(); ++t) {
        if ((subset >> t & 1) == 0) continue;
        tensors.push_back(t);
        const auto from = one.weights.begin() + static_cast<long>(shape.offset(t));
        w.insert(w.end(), from, from + static_cast<long>(shape[t].size()));
      }
      if (!one.model->affine_in(tensors)) continue;
      ++affine;
      const std::size_t n = one.data.labels.size();
      std::vector<float> x(n * w.size());
      std::vector<float> offset(n);
      std::vector<float> predictions(n);
      one.model->affine_design(one.views(one.weights), one.data.view(), tensors, x, offset);
      one.model->predict(one.views(one.weights), one.data.view(), predictions);
      for (std::size_t i = 0; i < n; ++i) {
        double expected = offset[i];
        for (std::size_t j = 0; j < w.size(); ++j) expected += static_cast<double>(x[i * w.size() + j]) * w[j];
        BOOST_TEST(std::abs(predictions[i] - expected) < 1e-5, one.name << ", subset " << subset);
      }
    }
  }
  BOOST_TEST(affine > 0U);
}

BOOST_AUTO_TEST_CASE(matrix_factorization_is_drawn_as_its_options_say) {
  const auto* entry = models::find_model("matrix-factorization");
  auto options = models::defaults(entry->options);
  for (const char* flag : {"user_bias", "item_bias", "mean"}) options.set(flag, true);
  options.set("initial_mean", 3.5);
  options.set("init", 0.2);
  for (const std::string distribution : {"uniform", "normal"}) {
    options.set("init_distribution", distribution);
    const auto model = entry->build(options, {200, 1, models::objective::squared_error}).value();
    for (std::size_t t = 0; t < model->tensors()->count(); ++t) {
      const auto& spec = (*model->tensors())[t];
      std::vector<float> values(spec.size());
      model->initialize(t, models::random_stream(1, models::purpose::test), values);
      double squares = 0.0;
      for (const double value : values) {
        squares += value * value;
        if (distribution == "uniform" && spec.cols > 1) BOOST_TEST(std::abs(value) <= 0.2F);
      }
      squares /= static_cast<double>(values.size());
      if (spec.name == "mean") BOOST_TEST(values.front() == 3.5F);
      if (spec.name.ends_with("bias")) BOOST_TEST(squares == 0.0);
      if (spec.name == "item") BOOST_TEST(std::abs(squares / (distribution == "normal" ? 0.04 : 0.04 / 3) - 1) < 0.05);
    }
  }
}

BOOST_AUTO_TEST_SUITE_END()
