// Mistakes of models that a run does not see, each found by its law.
#include <algorithm>
#include <atomic>
#include <memory>

#include "models/model.hpp"
#include "tests/tools/conformance/planted_parts.hpp"

BOOST_AUTO_TEST_SUITE(planted_models)

using namespace furlong;

namespace {

enum class mistake {
  none,
  infinite_loss,
  half_gradient,
  unmarked_rows,
  frozen_bias_left_out,
  prediction_without_bias,
  prediction_by_batch,
  loss_by_place,
  counted_calls,
  design_of_zeros
};

/// A rating is the bias of its item plus that of all; squared error.
class planted_model final : public models::model {
 public:
  planted_model(mistake made, const models::data_facts& facts)
      : mistake_(made),
        tensors_(std::make_shared<models::layout>(std::vector<models::tensor_spec>{
            {"item_bias", facts.features, 1, models::row_index::by_feature}, {"bias"}})) {}

  std::string_view kind() const override { return "planted"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return models::objective::squared_error; }
  void initialize(std::size_t tensor, random_stream, std::span<float> values) const override {
    std::ranges::fill(values, tensor == item ? 0.5F : 0.0F);
  }

  double gradient(std::span<const models::tensor_view> weights, const models::examples_view& batch,
                  models::gradient_views& out) const override {
    const bool leaves_out = mistake_ == mistake::frozen_bias_left_out && out.data[bias] == nullptr;
    const float added = leaves_out ? 0.0F : *weights[bias].data;
    float slopes = 0.0F;
    double loss = mistake_ == mistake::counted_calls ? 1e-3 * ++calls_ : 0.0;
    if (mistake_ == mistake::infinite_loss) loss += 1.0 / static_cast<double>(*weights[bias].data);
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = batch.features[i];
      const float residual = batch.labels[i] - weights[item].data[row] - added;
      const float slope = -2.0F * residual / static_cast<float>(batch.size());
      loss += static_cast<double>(residual) * static_cast<double>(residual);
      if (mistake_ == mistake::loss_by_place) loss += static_cast<double>(i) * static_cast<double>(batch.labels[i]);
      slopes += slope;
      if (out.data[item] != nullptr) add(out, row, slope);
    }
    if (out.data[bias] != nullptr) *out.data[bias] = mistake_ == mistake::half_gradient ? slopes / 2 : slopes;
    return loss;
  }

  void predict(std::span<const models::tensor_view> weights, const models::examples_view& batch,
               std::span<float> out) const override {
    for (std::size_t i = 0; i < batch.size(); ++i) {
      out[i] = weights[item].data[batch.features[i]];
      if (mistake_ != mistake::prediction_without_bias) out[i] += *weights[bias].data;
      if (mistake_ == mistake::prediction_by_batch) out[i] += static_cast<float>(batch.size());
    }
  }

  bool affine_in(std::span<const std::size_t> tensors) const override {
    return mistake_ == mistake::design_of_zeros &&
           std::ranges::equal(tensors, std::initializer_list<std::size_t>{bias});
  }

 private:
  static constexpr std::size_t item = 0;
  static constexpr std::size_t bias = 1;

  void add(models::gradient_views& out, std::uint32_t row, float slope) const {
    auto& marks = out.by_feature;
    float& slot = out.data[item][row];
    if (mistake_ == mistake::unmarked_rows || marks.stamp[row] == marks.now) {
      slot += slope;
      return;
    }
    marks.stamp[row] = marks.now;
    marks.touched[marks.count++] = row;
    slot = slope;
  }

  mistake mistake_;
  models::layout_ptr tensors_;
  mutable std::atomic<int> calls_ = 0;
};

void plant(mistake made) {
  models::register_model({.kind = "planted",
                          .doc = "A model of this test.",
                          .options = {},
                          .build = [made](const option_values&, const models::data_facts& facts)
                              -> result<std::shared_ptr<const models::model>> {
                            return std::make_shared<const planted_model>(made, facts);
                          }});
}

void check_broken(mistake made, const std::string& law, const std::string& reason) {
  plant(made);
  tests::check_broken(tools::part_kind::model, law, reason);
}

}  // namespace

BOOST_AUTO_TEST_CASE(a_sound_model_is_none_of_these) {
  plant(mistake::none);
  tests::check_sound(tools::part_kind::model);
}

BOOST_AUTO_TEST_CASE(a_loss_that_is_infinite_at_first) {
  check_broken(mistake::infinite_loss, "values", "the loss is not finite");
}

BOOST_AUTO_TEST_CASE(a_gradient_of_half_the_size) {
  check_broken(mistake::half_gradient, "gradient", "by value 0 of bias, the gradient is ");
}

BOOST_AUTO_TEST_CASE(rows_that_are_written_and_not_marked) {
  check_broken(mistake::unmarked_rows, "marks", "a step of rate 0.5 moves value ");
}

BOOST_AUTO_TEST_CASE(a_frozen_tensor_that_is_left_out) {
  check_broken(mistake::frozen_bias_left_out, "frozen-tensors", " when all tensors but item_bias are frozen");
}

BOOST_AUTO_TEST_CASE(a_prediction_without_what_is_trained) {
  check_broken(mistake::prediction_without_bias, "loss", ", and with other labels by ");
}

BOOST_AUTO_TEST_CASE(a_prediction_that_depends_on_the_batch) {
  check_broken(mistake::prediction_by_batch, "batches", "example 0 is predicted as ");
}

BOOST_AUTO_TEST_CASE(a_loss_that_depends_on_the_place_in_the_batch) {
  check_broken(mistake::loss_by_place, "example-order", " with the examples in reverse order");
}

BOOST_AUTO_TEST_CASE(a_gradient_that_counts_its_calls) {
  check_broken(mistake::counted_calls, "repetition", " when it is asked for again");
}

BOOST_AUTO_TEST_CASE(a_design_that_is_not_that_of_the_predictions) {
  check_broken(mistake::design_of_zeros, "design", " is predicted as ");
}

BOOST_AUTO_TEST_SUITE_END()
