// Binary logistic regression on sparse features: log-odds = bias + sum of value * weight[feature].
// Tensors, in order: weight (features x 1), bias (1 x 1), and user_bias (1 x 1, optional): an intercept per client.
#include <algorithm>

#include "models/entries.hpp"
#include "models/logistic.hpp"

namespace furlong::models {

namespace {

constexpr std::size_t weight = 0;
constexpr std::size_t bias = 1;
constexpr std::size_t user_bias = 2;

struct feature_range {
  std::size_t begin;
  std::size_t end;
};

feature_range features_of(const examples_view& batch, std::size_t i) {
  return batch.offsets.empty() ? feature_range{i, i + 1} : feature_range{batch.offsets[i], batch.offsets[i + 1]};
}

float value_at(const examples_view& batch, std::size_t entry) {
  return batch.values.empty() ? 1.0F : batch.values[entry];
}

class logistic_regression final : public model {
 public:
  logistic_regression(const option_values& options, const data_facts& facts)
      : l2_(static_cast<float>(options.number("l2"))) {
    std::vector<tensor_spec> specs = {{"weight", facts.features, 1, row_index::by_feature}, {"bias", 1, 1}};
    if (options.flag("user_bias")) specs.push_back({"user_bias", 1, 1});
    tensors_ = std::make_shared<layout>(std::move(specs));
  }

  std::string_view kind() const override { return "logistic-regression"; }
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::logistic; }

  void initialize(std::size_t, random_stream, std::span<float> values) const override {
    std::ranges::fill(values, 0.0F);  // convex: any start will do
  }

  double gradient(std::span<const tensor_view> w, const examples_view& batch, gradient_views& out) const override {
    const float per_example = 1.0F / static_cast<float>(batch.size());
    double loss = 0.0;
    float bias_gradient = 0.0F;
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const float odds = log_odds(w, batch, i);
      const float y = batch.labels[i];
      loss += logistic_loss(odds, y);
      const float error = (sigmoid(odds) - y) * per_example;
      bias_gradient += error;
      const auto [begin, end] = features_of(batch, i);
      for (std::size_t entry = begin; entry < end; ++entry) {
        const auto row = batch.features[entry];
        const float own = w[weight].data[row];
        loss += l2_ * own * own;
        if (out.data[weight] == nullptr) continue;
        const float term = error * value_at(batch, entry) + 2.0F * l2_ * own * per_example;
        add(out, row, term);
      }
    }
    if (out.data[bias] != nullptr) *out.data[bias] = bias_gradient;
    if (w.size() > user_bias && out.data[user_bias] != nullptr) *out.data[user_bias] = bias_gradient;
    return loss;
  }

  void predict(std::span<const tensor_view> w, const examples_view& batch, std::span<float> out) const override {
    for (std::size_t i = 0; i < batch.size(); ++i) out[i] = log_odds(w, batch, i);
  }

 private:
  static float log_odds(std::span<const tensor_view> w, const examples_view& batch, std::size_t i) {
    float sum = w[bias].data[0] + (w.size() > user_bias ? w[user_bias].data[0] : 0.0F);
    const auto [begin, end] = features_of(batch, i);
    for (std::size_t entry = begin; entry < end; ++entry)
      sum += value_at(batch, entry) * w[weight].data[batch.features[entry]];
    return sum;
  }

  static void add(gradient_views& out, std::uint32_t row, float term) {
    auto& marks = out.by_feature;
    float& slot = out.data[weight][row];
    if (marks.stamp[row] != marks.now) {
      marks.stamp[row] = marks.now;
      marks.touched[marks.count++] = row;
      slot = term;
    } else {
      slot += term;
    }
  }

  float l2_;
  layout_ptr tensors_;
};

}  // namespace

model_entry logistic_regression_entry() {
  model_entry entry;
  entry.kind = "logistic-regression";
  entry.doc = "Binary classification: log-odds linear in sparse features, logistic loss.";
  entry.options = {
      flag_option("user_bias", false, "Add an intercept per client (tensor user_bias)."),
      number_option("l2", 0.0, "Weight of the squared weights that an example names in its loss.", {0}),
  };
  entry.build = [](const option_values& options, const data_facts& facts) -> result<std::shared_ptr<const model>> {
    if (facts.labels != objective::logistic)
      return fail(error::kind::usage, "model.kind", "logistic-regression needs labels 0 and 1, and the data has none",
                  "set data.binarize or data.positive, or choose another model");
    return std::make_shared<logistic_regression>(options, facts);
  };
  return entry;
}

}  // namespace furlong::models
