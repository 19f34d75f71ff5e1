#include <boost/test/unit_test.hpp>
#include <cmath>

#include "models/layout.hpp"
#include "tests/models/drawn.hpp"
#include "tests/models/model_checks.hpp"

BOOST_AUTO_TEST_SUITE(lstm_nwp)

using namespace furlong;

namespace {

const models::data_facts plain{9, 1, models::objective::next_token, 0, 9};
const models::data_facts with_buckets{12, 1, models::objective::next_token, 0, 9};

auto build(const models::data_facts& facts) {
  const auto* entry = models::find_model("lstm-nwp");
  return entry->build(defaults(entry->options), facts);
}

}  // namespace

BOOST_AUTO_TEST_CASE(it_has_the_sizes_of_the_paper_and_a_tensor_for_the_buckets) {
  const std::string rest =
      "lstm_input 2680x96 lstm_recurrent 2680x670 lstm_bias 1x2680 projection 96x670 projection_bias 1x96 "
      "output 9x96 output_bias 1x9 ";
  BOOST_TEST(tests::shapes_of(*build(plain).value()) == "embedding 9x96 " + rest);
  const auto model = build(with_buckets).value();
  BOOST_TEST(tests::shapes_of(*model) == "embedding 9x96 oov_embedding 3x96 " + rest);
  const std::vector<std::string> private_names{"oov_embedding"};
  const auto parts = models::split(model->tensors(), private_names).value();
  BOOST_TEST(parts.private_->size() == 3U * 96U);
}

// As many as fill the room of the states, were they to have rows in it.
BOOST_AUTO_TEST_CASE(sequences_that_predict_nothing_change_nothing) {
  auto options = defaults(models::find_model("lstm-nwp")->options);
  for (const char* width : {"embedding", "hidden", "projection"}) options.set(width, std::int64_t{8});
  auto model = models::find_model("lstm-nwp")->build(options, plain).value();
  auto weights = tests::drawn(model->tensors()->size(), 1);
  models::examples sentence;
  sentence.features = {0, 5, 3, 7, 1};
  sentence.offsets = {0, 5};
  sentence.labels = {0.0F};
  auto with_others = sentence;
  for (int i = 0; i < 60; ++i) {
    with_others.features.push_back(0);
    with_others.offsets.push_back(static_cast<std::uint32_t>(with_others.features.size()));
    with_others.labels.push_back(0.0F);
  }
  const auto written = [&](const models::examples& data) {
    return tests::gradient_of({"lstm-nwp", model, data, weights}, weights,
                              std::vector<bool>(model->tensors()->count(), false));
  };
  const auto alone = written(sentence);
  const auto among = written(with_others);
  BOOST_TEST(among.loss == alone.loss * 61.0);
  for (std::size_t t = 0; t < alone.tensors.size(); ++t)
    BOOST_TEST((among.tensors[t] == alone.tensors[t]), (*model->tensors())[t].name);
}

BOOST_AUTO_TEST_CASE(more_sentences_than_a_block_are_scored_as_one_by_one) {
  auto options = defaults(models::find_model("lstm-nwp")->options);
  for (const char* width : {"embedding", "hidden", "projection"}) options.set(width, std::int64_t{8});
  auto model = models::find_model("lstm-nwp")->build(options, plain).value();
  auto weights = tests::drawn(model->tensors()->size(), 1);
  tests::model_case one{"lstm-nwp", std::move(model), tests::drawn_sentences(75, 9), std::move(weights)};
  tests::check_sentences_one_by_one(one);
}

BOOST_AUTO_TEST_CASE(data_without_sentences_is_refused) {
  BOOST_TEST(build({9, 1, models::objective::logistic, 0, 9}).error().place == "model.kind");
}

BOOST_AUTO_TEST_CASE(first_values_are_those_that_its_header_names) {
  const auto model = build(with_buckets).value();
  for (std::size_t t = 0; t < model->tensors()->count(); ++t) {
    const auto& name = (*model->tensors())[t].name;
    std::vector<float> values(4000);
    model->initialize(t, random_stream(1, purpose::test), values);
    const auto [low, high] = std::ranges::minmax(values);
    const float range = name.ends_with("embedding") ? 0.05F
                        : name == "output"          ? 1 / std::sqrt(96.0F)
                        : name == "output_bias"     ? 0.0F
                                                    : 1 / std::sqrt(670.0F);
    BOOST_TEST(std::abs(high - range) <= 0.01F * range, name);
    BOOST_TEST(std::abs(low + range) <= 0.01F * range, name);
  }
}

BOOST_AUTO_TEST_SUITE_END()
