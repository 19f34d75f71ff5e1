// A perceptron with one hidden layer, on vectors with labels 0 and 1: features z = tanh(x W), log-odds = z o' + b.
// Tensors, in order: hidden W (inputs x units), output o (1 x units), output_bias b (1 x 1).
#include <algorithm>

#include "models/feature_model.hpp"
#include "models/logistic.hpp"
#include "parts.hpp"

namespace parts {

namespace {

using namespace furlong::models;
using views = std::span<const tensor_view>;
enum : std::size_t { hidden, output, output_bias };

struct perceptron final : feature_model {
  perceptron(std::uint32_t inputs, std::uint32_t units)
      : tensors_(std::make_shared<layout>(
            std::vector<tensor_spec>{{"hidden", inputs, units}, {"output", 1, units}, {"output_bias"}})) {}
  std::string_view kind() const override { return "perceptron"; }
  const layout_ptr& tensors() const override { return tensors_; }
  furlong::models::objective objective() const override { return furlong::models::objective::logistic; }
  std::uint32_t classes() const override { return 2; }
  std::uint32_t width() const override { return (*tensors_)[output].cols; }
  linear_head head() const override { return {output, output_bias}; }
  void initialize(std::size_t, furlong::random_stream stream, std::span<float> values) const override {
    for (auto& value : values) value = stream.uniform(-0.5F, 0.5F);
  }
  void features(views w, const examples_view& batch, std::span<float> out) const override {
    for (std::size_t i = 0; i < out.size(); ++i) {
      float sum = 0.0F;
      for (auto x = batch.offsets[i / width()]; x < batch.offsets[i / width() + 1]; ++x)
        sum += batch.values[x] * w[hidden].row(batch.features[x])[i % width()];
      out[i] = 2.0F * sigmoid(2.0F * sum) - 1.0F;
    }
  }
  void predict(views w, const examples_view& batch, std::span<float> out) const override {
    std::vector<float> z(batch.size() * width());
    features(w, batch, z);
    std::ranges::fill(out, *w[output_bias].data);
    for (std::size_t i = 0; i < z.size(); ++i) out[i / width()] += z[i] * w[output].data[i % width()];
  }
  void probabilities(views w, const examples_view& batch, std::span<float> out) const override {
    std::vector<float> odds(batch.size());
    predict(w, batch, odds);
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = sigmoid(i % 2 == 0 ? -odds[i / 2] : odds[i / 2]);
  }

  double gradient_with(views w, const examples_view& batch, const feature_loss& added,
                       gradient_views& out) const override {
    const auto count = static_cast<std::uint32_t>(batch.size());
    std::vector<float> z(count * width()), d_z(z.size()), chances(2 * count), sums(tensors_->size());
    features(w, batch, z);
    probabilities(w, batch, chances);
    double loss = added({z.data(), count, width()}, {d_z.data(), count, width()});
    const auto d = [&](std::size_t tensor) { return sums.data() + tensors_->offset(tensor); };
    for (std::size_t i = 0; i < count; ++i) {
      loss -= furlong::exact::log(static_cast<double>(std::max(chances[2 * i + class_of(batch, i)], 1e-30F)));
      const float error = (chances[2 * i + 1] - batch.labels[i]) / static_cast<float>(count);
      *d(output_bias) += error;
      for (std::size_t unit = 0, at = i * width(); unit < width(); ++unit, ++at) {
        d(output)[unit] += error * z[at];
        const float slope = (d_z[at] + error * w[output].data[unit]) * (1.0F - z[at] * z[at]);
        for (auto x = batch.offsets[i]; x < batch.offsets[i + 1]; ++x)
          d(hidden)[batch.features[x] * width() + unit] += slope * batch.values[x];
      }
    }
    for (std::size_t t = 0; t < w.size(); ++t)
      if (out.data[t] != nullptr) std::copy_n(d(t), w[t].size(), out.data[t]);
    return loss;
  }

  layout_ptr tensors_;
};

using built = furlong::result<std::shared_ptr<const model>>;
built build_perceptron(const furlong::option_values& options, const data_facts& facts) {
  if (facts.labels == objective::logistic && facts.words == 0)
    return std::make_shared<perceptron>(facts.features, static_cast<std::uint32_t>(options.integer("units")));
  return furlong::fail(furlong::error::kind::usage, "model.kind", "is for vectors with labels", "choose another model");
}

}  // namespace

model_entry perceptron_entry() {
  return {"perceptron", "One hidden layer.", {whole_number("units", 4, "Units of the layer.")}, build_perceptron};
}

}  // namespace parts
