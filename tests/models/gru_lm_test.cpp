#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/drawn.hpp"
#include "tests/models/model_checks.hpp"

BOOST_AUTO_TEST_SUITE(gru_lm)

using namespace furlong;
using tests::model_case;

namespace {

const models::data_facts plain{9, 1, models::objective::next_token, 0, 9};
const models::data_facts with_buckets{12, 1, models::objective::next_token, 0, 9};

option_values small() {
  auto options = defaults(models::find_model("gru-lm")->options);
  options.set("embedding", std::int64_t{4});
  options.set("hidden", std::int64_t{4});
  return options;
}

auto build(const option_values& options, const models::data_facts& facts = plain) {
  return models::find_model("gru-lm")->build(options, facts);
}

models::examples from(const std::vector<std::vector<std::uint32_t>>& sequences) {
  models::examples data;
  data.offsets.push_back(0);
  for (const auto& one : sequences) {
    data.features.insert(data.features.end(), one.begin(), one.end());
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(0.0F);
  }
  return data;
}

model_case make_case(const option_values& options, const models::examples& data) {
  auto model = build(options).value();
  auto weights = tests::drawn(model->tensors()->size(), 1);
  return {"gru-lm", std::move(model), data, std::move(weights)};
}

models::class_scores scores_of(model_case& of) {
  models::class_scores scores;
  of.model->score(of.views(of.weights), of.data.view(), scores);
  return scores;
}

const std::vector<std::vector<std::uint32_t>> sentences = {
    {0, 5, 6, 7, 1}, {0, 3, 4, 1}, {0, 8, 8, 2, 5, 1}, {0, 7, 1}};

}  // namespace

BOOST_AUTO_TEST_CASE(its_tensors_have_pytorchs_shapes) {
  auto options = defaults(models::find_model("gru-lm")->options);
  options.set("layers", std::int64_t{2});
  options.set("hidden", std::int64_t{50});
  const auto signature = [&](const models::data_facts& facts) {
    return tests::shapes_of(*build(options, facts).value());
  };
  BOOST_TEST(
      signature(with_buckets) ==
      "embedding 12x300 gru0_input 150x300 gru0_recurrent 150x50 gru0_bias_input 1x150 gru0_bias_recurrent 1x150 "
      "gru1_input 150x50 gru1_recurrent 150x50 gru1_bias_input 1x150 gru1_bias_recurrent 1x150 "
      "output 9x50 output_bias 1x9 ");
  options.set("layers", std::int64_t{1});
  options.set("embedding", std::int64_t{50});
  options.set("tied", true);
  BOOST_TEST(signature(plain) ==
             "embedding 9x50 gru0_input 150x50 gru0_recurrent 150x50 gru0_bias_input 1x150 gru0_bias_recurrent 1x150 "
             "output_bias 1x9 ");
}

BOOST_AUTO_TEST_CASE(its_sizes_are_those_of_the_paper) {
  auto options = defaults(models::find_model("gru-lm")->options);
  for (const auto& [size, signature] : std::initializer_list<std::pair<const char*, const char*>>{
           {"small",
            "embedding 9x300 gru0_input 900x300 gru0_recurrent 900x300 gru0_bias_input 1x900 "
            "gru0_bias_recurrent 1x900 output 9x300 output_bias 1x9 "},
           {"medium",
            "embedding 9x650 gru0_input 1950x650 gru0_recurrent 1950x650 gru0_bias_input 1x1950 "
            "gru0_bias_recurrent 1x1950 output 9x650 output_bias 1x9 "},
           {"large",
            "embedding 9x1500 gru0_input 4500x1500 gru0_recurrent 4500x1500 gru0_bias_input 1x4500 "
            "gru0_bias_recurrent 1x4500 output 9x1500 output_bias 1x9 "}}) {
    options.set("size", std::string(size));
    BOOST_TEST(tests::shapes_of(*build(options).value()) == signature);
  }
}

BOOST_AUTO_TEST_CASE(what_cannot_be_built_is_refused) {
  auto options = small();
  BOOST_TEST(!build(options, {9, 1, models::objective::logistic}));
  options.set("tied", true);
  BOOST_TEST(build(options).has_value());
  BOOST_TEST(build(options, with_buckets).error().place == "model.tied");
  options.set("hidden", std::int64_t{5});
  BOOST_TEST(build(options).error().place == "model.tied");
}

BOOST_AUTO_TEST_CASE(first_values_are_drawn_as_its_options_say) {
  auto options = small();
  options.set("init", 0.03);
  const auto model = build(options).value();
  for (std::size_t t = 0; t < model->tensors()->count(); ++t) {
    const auto& spec = (*model->tensors())[t];
    std::vector<float> values(std::max<std::size_t>(spec.size(), 4000));
    model->initialize(t, random_stream(1, purpose::test), values);
    const auto [low, high] = std::ranges::minmax(values);
    const float range = spec.name == "output_bias" ? 0.0F : spec.name.starts_with("gru") ? 0.5F : 0.03F;
    BOOST_TEST(std::abs(high - range) <= 0.01F * range, spec.name);
    BOOST_TEST(std::abs(low + range) <= 0.01F * range, spec.name);
  }
}

// Row t of the transposed batch is token t of each sentence; what is beyond the shortest sentence is gone.
BOOST_AUTO_TEST_CASE(the_published_protocol_is_the_language_model_on_transposed_batches) {
  auto options = small();
  const auto transposed = from({{0, 0, 0, 0}, {5, 3, 8, 7}, {6, 4, 8, 1}});
  auto expected = make_case(options, transposed);
  options.set("protocol", std::string("fedatt-2018"));
  auto published = make_case(options, from(sentences));
  const std::vector<bool> all(published.model->tensors()->count(), false);
  const auto ours = tests::gradient_of(published, published.weights, all);
  const auto theirs = tests::gradient_of(expected, expected.weights, all);
  BOOST_TEST(ours.loss / 4 == theirs.loss / 3, boost::test_tools::tolerance(1e-12));
  for (std::size_t t = 0; t < all.size(); ++t)
    BOOST_TEST(ours.tensors[t] == theirs.tensors[t], boost::test_tools::per_element());
  const auto a = scores_of(published);
  const auto b = scores_of(expected);
  BOOST_TEST(a.predictions == 9U);
  BOOST_TEST(a.loss == b.loss, boost::test_tools::tolerance(1e-12));
  BOOST_TEST(a.correct == b.correct);
  BOOST_TEST(a.words == b.words);
}

BOOST_AUTO_TEST_CASE(the_published_protocol_scores_in_batches_of_its_own) {
  auto options = small();
  options.set("protocol", std::string("fedatt-2018"));
  options.set("score_batch", std::int64_t{2});
  auto one = make_case(options, from(sentences));
  BOOST_TEST(scores_of(one).predictions == 4U + 3U);  // pairs, as long as the shorter of each
  options.set("score_batch", std::int64_t{3});
  auto other = make_case(options, from(sentences));
  BOOST_TEST(scores_of(other).predictions == 4U * 2U);  // the fourth sentence is alone
}

BOOST_AUTO_TEST_CASE(a_batch_without_predictions_has_no_gradient) {
  auto options = small();
  options.set("protocol", std::string("fedatt-2018"));
  auto alone = make_case(options, from({{0, 5, 6, 1}}));
  const auto written =
      tests::gradient_of(alone, alone.weights, std::vector<bool>(alone.model->tensors()->count(), false));
  BOOST_TEST(written.loss == 0.0);
  for (const auto& tensor : written.tensors)
    for (const float value : tensor) BOOST_TEST(value == 0.0F);
}

BOOST_AUTO_TEST_CASE(with_dropout_the_gradient_is_that_of_the_thinned_network) {
  auto options = small();
  options.set("dropout", 0.4);
  options.set("layers", std::int64_t{2});
  auto one = make_case(options, from(sentences));
  tests::check_thinned_gradient(one);
  // Nothing is dropped in scoring.
  options.set("dropout", 0.0);
  auto whole = make_case(options, from(sentences));
  BOOST_TEST(scores_of(one).loss == scores_of(whole).loss);
}

BOOST_AUTO_TEST_CASE(more_sentences_than_a_batch_are_scored_as_one_by_one) {
  auto options = small();
  for (const std::int64_t batch : {10, 7}) {
    options.set("score_batch", batch);
    auto one = make_case(options, tests::drawn_sentences(75, 9));
    tests::check_sentences_one_by_one(one);
  }
}

BOOST_AUTO_TEST_SUITE_END()
