// Where models drop and how much: losses of networks in double, thinned by what their places draw in turn.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/drawn.hpp"
#include "tests/models/layers/gru_reference.hpp"
#include "tests/models/layers/lstm_reference.hpp"
#include "tests/models/model_cases.hpp"

BOOST_AUTO_TEST_SUITE(dropout_places)

using namespace furlong;
using tests::model_case;
using numbers = std::vector<double>;

namespace {

constexpr float rate = 0.4F;

model_case make_case(const std::string& kind, const std::vector<std::pair<std::string, std::int64_t>>& widths,
                     const models::data_facts& facts, models::examples data) {
  const auto* entry = models::find_model(kind);
  auto options = defaults(entry->options);
  for (const auto& [name, width] : widths) options.set(name, width);
  options.set("dropout", 0.4);
  auto model = entry->build(options, facts).value();
  auto weights = tests::drawn(model->tensors()->size(), 1);
  return {kind, std::move(model), std::move(data), std::move(weights)};
}

/// The values of a tensor.
numbers widened(const model_case& of, const std::string& name) {
  const auto& shape = *of.model->tensors();
  const auto t = shape.find(name).value();
  const auto from = of.weights.begin() + static_cast<long>(shape.offset(t));
  return {from, from + static_cast<long>(shape[t].size())};
}

/// weight x + bias
numbers dense(const model_case& of, const std::string& name, const numbers& x) {
  const auto weight = widened(of, name);
  auto y = widened(of, name + "_bias");
  for (std::size_t row = 0; row < y.size(); ++row)
    for (std::size_t i = 0; i < x.size(); ++i) y[row] += weight[row * x.size() + i] * x[i];
  return y;
}

void thin(numbers& values, random_stream& noise) {
  for (auto& value : values) value *= noise.uniform() < rate ? 0.0 : 1.0 / (1.0 - rate);
}

/// Dropped are what enters each layer and what leaves the last.
double thinned_loss_of_words(const model_case& of, random_stream noise) {
  constexpr std::size_t width = 4;
  const auto embedding = widened(of, "embedding");
  const auto& tokens = of.data.features;
  std::vector<numbers> x;
  for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
    const auto row = embedding.begin() + static_cast<long>(tokens[i] * width);
    x.emplace_back(row, row + width);
  }
  const auto thin_all = [&] {
    for (auto& row : x) thin(row, noise);
  };
  for (const std::string layer : {"gru0_", "gru1_"}) {
    thin_all();
    x = tests::run({width, width, widened(of, layer + "input"), widened(of, layer + "recurrent"),
                    widened(of, layer + "bias_input"), widened(of, layer + "bias_recurrent")},
                   x);
  }
  thin_all();
  double loss = 0.0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto logits = dense(of, "output", x[i]);
    double sum = 0.0;
    for (const double logit : logits) sum += std::exp(logit);
    loss += std::log(sum) - logits[tokens[i + 1]];
  }
  return loss / static_cast<double>(x.size());
}

/// Dropped are the text vector, not the user's, and the hidden layer.
double thinned_loss_of_class(const model_case& of, random_stream noise) {
  constexpr std::size_t width = 3;
  constexpr std::size_t units = 8;
  const auto embedding = widened(of, "embedding");
  numbers x;
  std::vector<std::uint32_t> steps;
  for (const auto token : of.data.features) {
    const auto row = embedding.begin() + static_cast<long>(token * width);
    x.insert(x.end(), row, row + width);
    steps.push_back(static_cast<std::uint32_t>(steps.size()));
  }
  numbers states(steps.size() * 2 * units);
  for (const std::string direction : {"forward", "backward"}) {
    tests::run({width, units, widened(of, direction + "_input"), widened(of, direction + "_recurrent"),
                widened(of, direction + "_bias")},
               steps, x, states, 2 * units, direction == "forward" ? 0 : units);
    std::ranges::reverse(steps);
  }
  numbers joint(states.begin(), states.begin() + 2 * units);
  for (std::size_t i = 0; i < states.size(); ++i) joint[i % (2 * units)] = std::max(joint[i % (2 * units)], states[i]);
  thin(joint, noise);
  const auto user = widened(of, "user");
  joint.insert(joint.end(), user.begin(), user.end());
  auto hidden = dense(of, "hidden", joint);
  for (auto& unit : hidden) unit = std::max(unit, 0.0);
  thin(hidden, noise);
  return std::log1p(std::exp(dense(of, "output", hidden)[0]));  // of class 0
}

/// The loss of the only example must be the expected one with each of many streams.
template <class Expected>
void check_losses(model_case& one, const Expected& expected) {
  std::vector<float> buffer(one.weights.size());
  std::vector<float*> targets;
  const auto& shape = *one.model->tensors();
  for (std::size_t t = 0; t < shape.count(); ++t) targets.push_back(buffer.data() + shape.offset(t));
  for (std::uint32_t part = 0; part < 20; ++part) {
    random_stream noise(5, purpose::dropout, part);
    const double reference = expected(one, noise);
    models::gradient_views out{targets, {}, {}, &noise};
    const double loss = one.model->gradient(one.views(one.weights), one.data.view(), out);
    BOOST_TEST(loss == reference, boost::test_tools::tolerance(1e-5));
  }
}

}  // namespace

BOOST_AUTO_TEST_CASE(dropout_thins_each_place_of_the_gru_at_its_rate) {
  models::examples sentence;
  sentence.features = {0, 5, 3, 7, 8, 4, 6, 1};
  sentence.offsets = {0, 8};
  sentence.labels = {0.0F};
  auto one = make_case("gru-lm", {{"embedding", 4}, {"hidden", 4}, {"layers", 2}},
                       {9, 1, models::objective::next_token, 0, 9}, sentence);
  check_losses(one, thinned_loss_of_words);
}

BOOST_AUTO_TEST_CASE(dropout_thins_each_place_of_the_classifier_at_its_rate) {
  models::examples text;
  text.features = {1, 2, 3, 4, 5};
  text.offsets = {0, 5};
  text.labels = {0.0F};
  auto one = make_case("doc-classifier", {{"embedding", 3}, {"hidden", 8}, {"mlp", 16}, {"user_embedding", 2}},
                       {9, 5, models::objective::logistic, 0, 9}, text);
  check_losses(one, thinned_loss_of_class);
}

BOOST_AUTO_TEST_SUITE_END()
