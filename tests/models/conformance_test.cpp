// What every model must be, registered today or later: its gradient is the derivative of its loss, a frozen tensor
// changes nothing for the others, predictions are what the loss is about, and an affine design gives the predictions.
#include <algorithm>
#include <boost/test/unit_test.hpp>
#include <cmath>
#include <cstring>
#include <thread>

#include "tests/models/model_checks.hpp"

BOOST_AUTO_TEST_SUITE(model_conformance)

using namespace furlong;
using tests::compare_slope;
using tests::mean_loss;
using tests::model_case;
using tests::nothing_frozen;

namespace {

/// Whether the loss is that of squared errors.
bool is_squared(const model_case& of) {
  return of.model->objective() == models::objective::squared_error ||
         (of.model->kind() == "matrix-factorization" && of.name.find("loss=") == std::string::npos);
}

/// The loss that predictions alone imply, without penalties.
double loss_of_predictions(const model_case& of, std::vector<float>& weights) {
  std::vector<float> predictions(of.data.labels.size());
  of.model->predict(of.views(weights), of.data.view(), predictions);
  double sum = 0.0;
  for (std::size_t i = 0; i < predictions.size(); ++i) {
    const double guess = predictions[i];
    const double label = of.data.labels[i];
    sum += is_squared(of) ? (label - guess) * (label - guess) : std::log1p(std::exp(guess)) - label * guess;
  }
  return sum;
}

models::class_scores scores_of(const model_case& of, std::vector<float>& weights, const models::examples_view& data) {
  models::class_scores scores;
  of.model->score(of.views(weights), data, scores);
  return scores;
}

/// True for a model of classes, whose loss is what score() adds up.
bool has_classes(const model_case& of) {
  return of.model->objective() == models::objective::categorical ||
         of.model->objective() == models::objective::next_token;
}

/// True for what gru_lm.cpp says of "fedatt-2018": scores depend on the batches and are not of next tokens.
bool follows_a_protocol(const model_case& of) { return of.name.find("protocol=") != std::string::npos; }

/// Which tensors to freeze together: all subsets of few tensors; of many each one, all but each one, and some more.
std::vector<std::size_t> subsets(std::size_t tensors) {
  std::vector<std::size_t> all;
  const std::size_t end = std::size_t{1} << tensors;
  if (tensors <= 6) {
    for (std::size_t subset = 1; subset < end; ++subset) all.push_back(subset);
    return all;
  }
  for (std::size_t t = 0; t < tensors; ++t) {
    all.push_back(std::size_t{1} << t);
    all.push_back(end - 1 - all.back());
  }
  random_stream stream(22, purpose::test);
  for (int i = 0; i < 40; ++i) all.push_back(1 + stream.below(static_cast<std::uint32_t>(end - 1)));
  return all;
}

bool same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

}  // namespace

BOOST_AUTO_TEST_CASE(every_registered_model_has_cases) {
  for (const auto& entry : models::registered_models()) {
    if (entry.kind == "python") continue;  // computed by a class: tests/processes/python_test.py
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
          const auto [slope, agrees] = compare_slope(one, shape.offset(t) + i, written.tensors[t][i]);
          BOOST_TEST(agrees, shape[t].name << "[" << i << "]: " << slope << " against " << written.tensors[t][i]);
        }
    }
  }
}

BOOST_AUTO_TEST_CASE(freezing_any_tensors_leaves_the_others_gradients_as_they_are) {
  for (auto& one : tests::model_cases()) {
    BOOST_TEST_CONTEXT(one.name) {
      const auto all = tests::gradient_of(one, one.weights, nothing_frozen(one));
      const std::size_t tensors = one.model->tensors()->count();
      for (const auto subset : subsets(tensors)) {
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
    if (one.name.find("+l2") != std::string::npos || has_classes(one) || one.model->ranks_pairs()) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const double loss = tests::gradient_of(one, one.weights, nothing_frozen(one)).loss;
      BOOST_TEST(std::abs(loss - loss_of_predictions(one, one.weights)) < 1e-5 * loss);
    }
  }
}

BOOST_AUTO_TEST_CASE(the_loss_of_classes_is_that_of_the_scores) {
  for (auto& one : tests::model_cases()) {
    if (!has_classes(one)) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const auto scores = scores_of(one, one.weights, one.data.view());
      BOOST_TEST_REQUIRE(scores.predictions > 0U);
      BOOST_TEST(scores.loss / static_cast<double>(scores.predictions) == mean_loss(one, one.weights),
                 boost::test_tools::tolerance(1e-6));
      BOOST_TEST((scores.correct <= scores.predictions && scores.words <= scores.predictions));
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_scored_as_correct_is_what_is_predicted) {
  for (auto& one : tests::model_cases()) {
    if (!has_classes(one) || follows_a_protocol(one)) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const bool sequences = one.model->objective() == models::objective::next_token;
      models::class_scores expected;
      for (std::size_t i = 0; i < one.data.labels.size(); ++i) {
        auto example = one.data.view().slice(i, i + 1);
        const auto begin = example.offsets[0];
        const auto end = example.offsets[1];
        // Of a sentence, every beginning is asked for what comes next.
        for (auto last = sequences ? begin + 1 : end; last < end + (sequences ? 0 : 1); ++last) {
          const std::uint32_t offsets[] = {begin, last};
          example.offsets = offsets;
          float likeliest = -1.0F;
          one.model->predict(one.views(one.weights), example, {&likeliest, 1});
          std::uint32_t right = sequences ? one.data.features[last] : static_cast<std::uint32_t>(example.labels[0]);
          if (sequences && right >= tests::vocabulary) right = models::unknown_token;
          ++expected.predictions;
          expected.correct += likeliest == static_cast<float>(right) ? 1 : 0;
          if (!sequences || right == models::end_token) continue;
          ++expected.inside;
          expected.inside_correct += likeliest == static_cast<float>(right) ? 1 : 0;
          if (right < models::first_word) continue;
          ++expected.words;
          expected.words_correct += likeliest == static_cast<float>(right) ? 1 : 0;
        }
      }
      const auto scores = scores_of(one, one.weights, one.data.view());
      BOOST_TEST(scores.predictions == expected.predictions);
      BOOST_TEST(scores.correct == expected.correct);
      if (!sequences) continue;
      BOOST_TEST(scores.words == expected.words);
      BOOST_TEST(scores.words_correct == expected.words_correct);
      BOOST_TEST(scores.inside == expected.inside);
      BOOST_TEST(scores.inside_correct == expected.inside_correct);
    }
  }
}

BOOST_AUTO_TEST_CASE(scores_do_not_depend_on_how_examples_are_cut_into_batches) {
  for (auto& one : tests::model_cases()) {
    if (!has_classes(one) || follows_a_protocol(one)) continue;
    BOOST_TEST_CONTEXT(one.name) {
      const auto whole = scores_of(one, one.weights, one.data.view());
      for (const std::size_t size : {1U, 2U, 3U}) {
        models::class_scores sum;
        for (std::size_t i = 0; i < one.data.labels.size(); i += size)
          one.model->score(one.views(one.weights), one.data.view().slice(i, std::min(i + size, one.data.labels.size())),
                           sum);
        BOOST_TEST(sum.loss == whole.loss, boost::test_tools::tolerance(1e-6));
        BOOST_TEST(sum.predictions == whole.predictions);
        BOOST_TEST(sum.correct == whole.correct);
        BOOST_TEST(sum.words_correct == whole.words_correct);
        BOOST_TEST(sum.inside_correct == whole.inside_correct);
      }
    }
  }
}

// Also after other work on the same thread: what a step leaves behind must not reach the next one.
BOOST_AUTO_TEST_CASE(gradients_are_the_same_on_any_thread_and_at_any_time) {
  auto cases = tests::model_cases();
  std::vector<tests::written_gradient> first;
  for (auto& one : cases) first.push_back(tests::gradient_of(one, one.weights, nothing_frozen(one)));
  const auto differing = [&](std::size_t& count) {
    for (std::size_t i = 0; i < cases.size(); ++i) {
      auto weights = cases[i].weights;
      const auto again = tests::gradient_of(cases[i], weights, nothing_frozen(cases[i]));
      bool same = again.loss == first[i].loss;
      for (std::size_t t = 0; t < again.tensors.size(); ++t)
        same = same && same_bits(again.tensors[t], first[i].tensors[t]);
      count += same ? 0 : 1;
    }
  };
  std::size_t counts[2] = {};
  {
    std::jthread one([&] { differing(counts[0]); });
    std::jthread other([&] { differing(counts[1]); });
  }
  BOOST_TEST(counts[0] == 0U);
  BOOST_TEST(counts[1] == 0U);
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

// What least squares can rebuild. A product is affine in one of its factors; of items the row that an example names.
BOOST_AUTO_TEST_CASE(squared_factorization_is_affine_in_the_users_side_and_the_mean_and_nothing_else_is) {
  const std::vector<std::string> linear = {"user", "user_bias", "mean"};
  for (auto& one : tests::model_cases(true)) {
    const auto& shape = *one.model->tensors();
    const bool factors = one.model->kind() == "matrix-factorization" && is_squared(one);
    for (std::size_t subset = 1; subset < std::size_t{1} << shape.count(); ++subset) {
      std::vector<std::size_t> tensors;
      bool expected = factors;
      for (std::size_t t = 0; t < shape.count(); ++t) {
        if ((subset >> t & 1) == 0) continue;
        tensors.push_back(t);
        expected = expected && std::ranges::count(linear, shape[t].name) > 0;
      }
      if (one.model->affine_in(tensors) != expected)
        BOOST_ERROR(one.name << ", subset " << subset << (expected ? " is" : " is not") << " affine");
    }
  }
}

BOOST_AUTO_TEST_CASE(an_affine_design_reproduces_the_predictions) {
  for (auto& one : tests::model_cases(true)) {
    const auto& shape = *one.model->tensors();
    for (std::size_t subset = 1; subset < std::size_t{1} << shape.count(); ++subset) {
      std::vector<std::size_t> tensors;
      std::vector<float> w;
      for (std::size_t t = 0; t < shape.count(); ++t)
        if ((subset >> t & 1) != 0) tensors.push_back(t);
      if (!one.model->affine_in(tensors)) continue;
      for (const auto t : tensors) {
        const auto from = one.weights.begin() + static_cast<long>(shape.offset(t));
        w.insert(w.end(), from, from + static_cast<long>(shape[t].size()));
      }
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
}

// With the rows that an example names in place of whole tensors.
BOOST_AUTO_TEST_CASE(a_design_of_rows_reproduces_the_predictions) {
  std::size_t designs = 0;
  for (auto& one : tests::model_cases(true)) {
    const auto& shape = *one.model->tensors();
    const auto views = one.views(one.weights);
    for (std::size_t subset = 1; subset < std::size_t{1} << shape.count(); ++subset) {
      std::vector<std::size_t> tensors;
      std::size_t p = 0;
      for (std::size_t t = 0; t < shape.count(); ++t)
        if ((subset >> t & 1) != 0) {
          tensors.push_back(t);
          p += shape[t].cols;
        }
      const bool rows =
          std::ranges::all_of(tensors, [&](auto t) { return shape[t].name == "item" || shape[t].name == "item_bias"; });
      if (one.model->affine_in_rows(tensors) !=
          (rows && one.model->kind() == "matrix-factorization" && is_squared(one)))
        BOOST_ERROR(one.name << ", rows of subset " << subset);
      if (!one.model->affine_in_rows(tensors)) continue;
      ++designs;
      const auto data = one.data.view();
      std::vector<float> x(data.size() * p);
      std::vector<float> offset(data.size());
      std::vector<float> predictions(data.size());
      one.model->affine_design(views, data, tensors, x, offset);
      one.model->predict(views, data, predictions);
      for (std::size_t i = 0; i < data.size(); ++i) {
        double expected = offset[i];
        const float* factor = x.data() + i * p;
        for (const auto t : tensors)
          for (std::size_t j = 0; j < shape[t].cols; ++j)
            expected += double{*factor++} * views[t].row(data.features[i])[j];
        BOOST_TEST(std::abs(predictions[i] - expected) < 1e-5, one.name << ", subset " << subset);
      }
    }
  }
  BOOST_TEST(designs > 0U);
}

BOOST_AUTO_TEST_CASE(matrix_factorization_is_drawn_as_its_options_say) {
  const auto* entry = models::find_model("matrix-factorization");
  auto options = defaults(entry->options);
  for (const char* flag : {"user_bias", "item_bias", "mean"}) options.set(flag, true);
  options.set("initial_mean", 3.5);
  options.set("init", 0.2);
  for (const std::string distribution : {"uniform", "normal"}) {
    options.set("init_distribution", distribution);
    const auto model = entry->build(options, {200, 1, models::objective::squared_error}).value();
    for (std::size_t t = 0; t < model->tensors()->count(); ++t) {
      const auto& spec = (*model->tensors())[t];
      std::vector<float> values(spec.size());
      model->initialize(t, random_stream(1, purpose::test), values);
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
