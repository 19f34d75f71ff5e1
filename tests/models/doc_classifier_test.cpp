#include <boost/test/unit_test.hpp>
#include <cmath>

#include "tests/models/drawn.hpp"
#include "tests/models/model_checks.hpp"

BOOST_AUTO_TEST_SUITE(doc_classifier)

using namespace furlong;

namespace {

const models::data_facts binary{9, 5, models::objective::logistic, 0, 9};
const models::data_facts many{9, 5, models::objective::categorical, 7, 9};

option_values small() {
  auto options = defaults(models::find_model("doc-classifier")->options);
  options.set("embedding", std::int64_t{3});
  options.set("hidden", std::int64_t{4});
  options.set("mlp", std::int64_t{6});
  options.set("user_embedding", std::int64_t{2});
  return options;
}

auto build(const option_values& options, const models::data_facts& facts) {
  return models::find_model("doc-classifier")->build(options, facts);
}

models::examples texts(const std::vector<std::vector<std::uint32_t>>& all) {
  models::examples data;
  data.offsets.push_back(0);
  for (const auto& one : all) {
    data.features.insert(data.features.end(), one.begin(), one.end());
    data.offsets.push_back(static_cast<std::uint32_t>(data.features.size()));
    data.labels.push_back(static_cast<float>(one.front() % 2));
  }
  return data;
}

tests::model_case make_case(const option_values& options, const models::examples& data) {
  auto model = build(options, binary).value();
  auto weights = tests::drawn(model->tensors()->size(), 1);
  return {"doc-classifier", std::move(model), data, std::move(weights)};
}

std::vector<float> predictions_of(tests::model_case& of) {
  std::vector<float> predictions(of.data.labels.size());
  of.model->predict(of.views(of.weights), of.data.view(), predictions);
  return predictions;
}

}  // namespace

BOOST_AUTO_TEST_CASE(its_tensors_follow_from_options_and_classes) {
  const std::string lstms =
      "embedding 9x3 forward_input 16x3 forward_recurrent 16x4 forward_bias 1x16 "
      "backward_input 16x3 backward_recurrent 16x4 backward_bias 1x16 ";
  auto options = small();
  BOOST_TEST(tests::shapes_of(*build(options, binary).value()) ==
             "user 1x2 " + lstms + "hidden 6x10 hidden_bias 1x6 output 1x6 output_bias 1x1 ");
  options.set("user_table", true);
  BOOST_TEST(tests::shapes_of(*build(options, many).value()) ==
             "user 5x2 " + lstms + "hidden 6x10 hidden_bias 1x6 output 7x6 output_bias 1x7 ");
  options.set("user_table", false);
  options.set("user_embedding", std::int64_t{0});
  BOOST_TEST(tests::shapes_of(*build(options, many).value()) ==
             lstms + "hidden 6x8 hidden_bias 1x6 output 7x6 output_bias 1x7 ");
}

BOOST_AUTO_TEST_CASE(what_cannot_be_built_is_refused) {
  auto options = small();
  BOOST_TEST(build(options, {9, 5, models::objective::squared_error}).error().place == "model.kind");
  BOOST_TEST(build(options, {9, 5, models::objective::next_token, 0, 9}).error().place == "model.kind");
  BOOST_TEST(build(options, {9, 5, models::objective::logistic}).error().place == "model.kind");  // features, no tokens
  options.set("user_embedding", std::int64_t{0});
  options.set("user_table", true);
  BOOST_TEST(build(options, binary).error().place == "model.user_table");
}

BOOST_AUTO_TEST_CASE(first_values_are_those_that_its_header_names) {
  auto options = small();
  for (const double user_init : {0.0, 0.2}) {
    options.set("user_init", user_init);
    const auto model = build(options, many).value();
    for (std::size_t t = 0; t < model->tensors()->count(); ++t) {
      const auto& name = (*model->tensors())[t].name;
      std::vector<float> values(4000);
      model->initialize(t, random_stream(1, purpose::test), values);
      double squares = 0.0;
      for (const double value : values) squares += value * value / static_cast<double>(values.size());
      const double inputs = name.starts_with("hidden") ? 10 : name.starts_with("output") ? 6 : 4;
      const double expected = name == "user" ? user_init * user_init / 3 : name == "embedding" ? 1.0 : 1.0 / inputs / 3;
      BOOST_TEST(std::abs(squares - expected) <= 0.06 * expected, name << " " << squares << " " << expected);
    }
  }
}

BOOST_AUTO_TEST_CASE(what_is_beyond_the_longest_text_is_not_read) {
  auto options = small();
  options.set("max_length", std::int64_t{3});
  auto whole = make_case(options, texts({{1, 2, 3, 4, 5}, {6}, {7, 8, 0, 1}}));
  auto cut = make_case(options, texts({{1, 2, 3}, {6}, {7, 8, 0}}));
  BOOST_TEST(predictions_of(whole) == predictions_of(cut), boost::test_tools::per_element());
  options.set("max_length", std::int64_t{4});
  auto longer = make_case(options, texts({{1, 2, 3, 4, 5}, {6}, {7, 8, 0, 1}}));
  BOOST_TEST(predictions_of(longer)[0] != predictions_of(cut)[0]);
}

BOOST_AUTO_TEST_CASE(more_texts_than_a_block_are_predicted_one_as_the_other) {
  std::vector<std::vector<std::uint32_t>> all;
  for (std::uint32_t i = 0; i < 150; ++i) all.push_back(tests::drawn_below(1 + i % 7, i, 9));
  auto together = make_case(small(), texts(all));
  const auto predictions = predictions_of(together);
  for (std::size_t i = 0; i < all.size(); i += 11) {
    auto alone = make_case(small(), texts({all[i]}));
    BOOST_TEST(std::abs(predictions_of(alone)[0] - predictions[i]) <= 1e-5F);
  }
}

BOOST_AUTO_TEST_CASE(with_dropout_the_gradient_is_that_of_the_thinned_network) {
  auto options = small();
  options.set("dropout", 0.4);
  options.set("pooling", std::string("last"));
  auto one = make_case(options, texts({{1, 2, 3, 4, 5}, {6}, {7, 8, 0, 1}}));
  const auto& shape = *one.model->tensors();
  const auto bias = one.weights.begin() + static_cast<long>(shape.offset(*shape.find("hidden_bias")));
  std::fill(bias, bias + 6, 8.0F);  // far from where ReLU has no slope
  tests::check_thinned_gradient(one);
  const auto dropped = predictions_of(one);
  options.set("dropout", 0.0);
  auto whole = make_case(options, one.data);
  whole.weights = one.weights;
  BOOST_TEST(dropped == predictions_of(whole), boost::test_tools::per_element());
}

BOOST_AUTO_TEST_SUITE_END()
