// Checks that tests of several models share.
#pragma once

#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/drawn.hpp"
#include "tests/models/model_cases.hpp"

namespace furlong::tests {

/// Checks that what is dropped follows from the noise alone, and that the gradient of a model with dropout (every
/// tensor with row_index::none) is that of the network which the noise leaves.
inline void check_thinned_gradient(model_case& one) {
  const auto& shape = *one.model->tensors();
  std::vector<float> buffer(shape.size());
  std::vector<float*> targets;
  for (std::size_t t = 0; t < shape.count(); ++t) targets.push_back(buffer.data() + shape.offset(t));
  const auto loss_with = [&](std::uint32_t part) {
    random_stream noise(5, purpose::dropout, part);
    models::gradient_views out{targets, {}, {}, &noise};
    return one.model->gradient(one.views(one.weights), one.data.view(), out) /
           static_cast<double>(one.data.labels.size());
  };
  const double other = loss_with(1);
  const double loss = loss_with(0);
  BOOST_TEST(loss != other);
  const auto written = buffer;
  BOOST_TEST(loss_with(0) == loss);
  for (std::size_t i = 0; i < buffer.size(); i += 3) {
    auto& weight = one.weights[i];
    const float at = weight;
    weight = at + 0.01F;
    const double above = loss_with(0);
    weight = at - 0.01F;
    const double slope = (above - loss_with(0)) / 0.02;
    weight = at;
    BOOST_TEST(std::abs(slope - static_cast<double>(written[i])) < 5e-4 * (1 + std::abs(slope)), "weight " << i);
  }
}

/// Checks that each sentence is predicted and scored among the others as it is alone.
inline void check_sentences_one_by_one(model_case& of) {
  const auto all = of.data.view();
  const auto weights = of.views(of.weights);
  std::vector<float> together(all.size(), -1.0F);
  of.model->predict(weights, all, together);
  models::class_scores sum;
  for (std::size_t i = 0; i < all.size(); ++i) {
    float alone = -1.0F;
    of.model->predict(weights, all.slice(i, i + 1), {&alone, 1});
    BOOST_TEST(together[i] == alone, "sentence " << i);
    of.model->score(weights, all.slice(i, i + 1), sum);
  }
  models::class_scores whole;
  of.model->score(weights, all, whole);
  BOOST_TEST(whole.loss == sum.loss, boost::test_tools::tolerance(1e-6));
  BOOST_TEST(whole.predictions == sum.predictions);
  BOOST_TEST(whole.correct == sum.correct);
  BOOST_TEST(whole.words == sum.words);
  BOOST_TEST(whole.words_correct == sum.words_correct);
  BOOST_TEST(whole.inside == sum.inside);
  BOOST_TEST(whole.inside_correct == sum.inside_correct);
}

[[nodiscard]] inline std::vector<bool> nothing_frozen(const model_case& of) {
  return std::vector<bool>(of.model->tensors()->count(), false);
}

[[nodiscard]] inline double mean_loss(const model_case& of, std::vector<float>& weights) {
  return gradient_of(of, weights, nothing_frozen(of)).loss / static_cast<double>(of.data.labels.size());
}

/// The slope of the mean loss in one weight, from its value to `step` beside it.
[[nodiscard]] inline double slope_beside(const model_case& of, std::size_t weight, float step) {
  auto moved = of.weights;
  const double here = mean_loss(of, moved);
  moved[weight] += step;
  const double there = mean_loss(of, moved);
  return (there - here) / (static_cast<double>(moved[weight]) - static_cast<double>(of.weights[weight]));
}

struct compared_slope {
  double slope;
  bool agrees;
};

/// Whether `written` is the slope of the mean loss in a weight. Near a kink (a unit of ReLU at zero, two steps that are
/// both nearly the largest) only a shorter step shows it, and at the kink it lies between the slopes of both sides.
[[nodiscard]] inline compared_slope compare_slope(const model_case& of, std::size_t weight, double written) {
  const double slope = (slope_beside(of, weight, 0.01F) + slope_beside(of, weight, -0.01F)) / 2;
  const double tolerance = 4e-4 * (1 + std::abs(slope));
  if (std::abs(slope - written) < tolerance) return {slope, true};
  const auto [low, high] = std::minmax({slope_beside(of, weight, 1e-3F), slope_beside(of, weight, -1e-3F)});
  return {slope, low - tolerance < written && written < high + tolerance};
}

/// Sentences of words below `bound`, of various lengths.
inline models::examples drawn_sentences(std::uint32_t count, std::uint32_t bound) {
  models::examples data;
  data.offsets.push_back(0);
  for (std::uint32_t i = 0; i < count; ++i) {
    data.features.push_back(models::start_token);
    for (const auto word : drawn_below(1 + i % 7, i, bound - models::first_word))
      data.features.push_back(models::first_word + word);
    data.features.push_back(models::end_token);
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(0.0F);
  }
  return data;
}

/// "name ROWSxCOLS " of every tensor.
[[nodiscard]] inline std::string shapes_of(const models::model& of) {
  std::string text;
  for (const auto& spec : of.tensors()->tensors())
    text += spec.name + " " + std::to_string(spec.rows) + "x" + std::to_string(spec.cols) + " ";
  return text;
}

}  // namespace furlong::tests
