#include "item_bias.hpp"

#include <algorithm>
#include <memory>
#include <span>

namespace item_bias {

namespace {

namespace fm = furlong::models;

constexpr std::size_t mean = 0;
constexpr std::size_t item = 1;
constexpr std::size_t user = 2;

class item_bias_model final : public fm::model {
 public:
  item_bias_model(const furlong::option_values& options, const fm::data_facts& facts)
      : initial_mean_(static_cast<float>(options.number("initial_mean"))),
        tensors_(std::make_shared<fm::layout>(std::vector<fm::tensor_spec>{
            {"mean", 1, 1}, {"item_bias", facts.features, 1, fm::row_index::by_feature}, {"user_bias", 1, 1}})) {}

  std::string_view kind() const override { return "item-bias"; }
  const fm::layout_ptr& tensors() const override { return tensors_; }
  fm::objective objective() const override { return fm::objective::squared_error; }

  void initialize(std::size_t tensor, furlong::random_stream, std::span<float> values) const override {
    std::ranges::fill(values, tensor == mean ? initial_mean_ : 0.0F);
  }

  double gradient(std::span<const fm::tensor_view> w, const fm::examples_view& batch,
                  fm::gradient_views& out) const override {
    const float per_example = 1.0F / static_cast<float>(batch.size());
    double loss = 0.0;
    float of_all = 0.0F;  // d loss / d mean, and the same for the user's bias
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const auto row = batch.features[i];
      const float residual = batch.labels[i] - estimate(w, row);
      const float slope = -2.0F * residual * per_example;
      loss += static_cast<double>(residual) * residual;
      of_all += slope;
      if (out.data[item] != nullptr) add(out, row, slope);
    }
    if (out.data[mean] != nullptr) *out.data[mean] = of_all;
    if (out.data[user] != nullptr) *out.data[user] = of_all;
    return loss;
  }

  void predict(std::span<const fm::tensor_view> w, const fm::examples_view& batch,
               std::span<float> out) const override {
    for (std::size_t i = 0; i < batch.size(); ++i) out[i] = estimate(w, batch.features[i]);
  }

 private:
  static float estimate(std::span<const fm::tensor_view> w, std::uint32_t row) {
    return w[mean].data[0] + w[item].data[row] + w[user].data[0];
  }

  // Only rows that the batch names are written; the first to write a row lists it.
  static void add(fm::gradient_views& out, std::uint32_t row, float term) {
    auto& marks = out.by_feature;
    float& slot = out.data[item][row];
    if (marks.stamp[row] == marks.now) {
      slot += term;
      return;
    }
    marks.stamp[row] = marks.now;
    marks.touched[marks.count++] = row;
    slot = term;
  }

  float initial_mean_;
  fm::layout_ptr tensors_;
};

}  // namespace

fm::model_entry entry() {
  fm::model_entry made;
  made.kind = "item-bias";
  made.doc = "Ratings as mean plus a bias per item and per user, squared error.";
  made.options = {{.name = "initial_mean",
                   .type = furlong::option_type::number,
                   .fallback = 0.0,
                   .doc = "First value of the mean, in rating units."}};
  made.build = [](const furlong::option_values& options,
                  const fm::data_facts& facts) -> furlong::result<std::shared_ptr<const fm::model>> {
    if (facts.labels != fm::objective::squared_error)
      return furlong::fail(furlong::error::kind::usage, "model.kind", "item-bias needs ratings, the data has classes",
                           "choose logistic-regression");
    return std::make_shared<item_bias_model>(options, facts);
  };
  return made;
}

}  // namespace item_bias
