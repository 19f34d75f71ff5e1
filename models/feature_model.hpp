// Models that compute features of an example, and predict by a linear layer on these: the head.
#pragma once

#include "base/function_ref.hpp"
#include "models/class_model.hpp"

namespace furlong::models {

/// The tensors of a head, by number: `weight` is outputs x width, `bias` 1 x outputs. A logistic model has one output,
/// the log-odds of 1; others have one for each class, the logits. Outputs are features W' + b.
struct linear_head {
  std::size_t weight = 0;
  std::size_t bias = 0;
};

/// A term of the loss in the features of a batch (both arguments: examples x width, in the order of the examples). It
/// adds the gradient of its *mean* over the examples to `d_features` and returns its sum. It must not call a model: the
/// activations of the step are in the memory that a model clears when it is called.
using feature_loss = function_ref<double(const tensor_view& features, const tensor_view& d_features)>;

/// A model of classes with a linear head. Optional for models of classes; an algorithm that needs one says so in its
/// traits (needs_features).
class feature_model : public class_model {
 public:
  /// Number of features of an example.
  [[nodiscard]] virtual std::uint32_t width() const = 0;
  [[nodiscard]] virtual linear_head head() const = 0;
  /// Writes the features that predict() and probabilities() are computed from. Thread-safe.
  /// @param out examples x width()
  virtual void features(std::span<const tensor_view> weights, const examples_view& batch,
                        std::span<float> out) const = 0;
  /// gradient_with() of no term; to be overridden where that costs less.
  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    const auto nothing = [](const tensor_view&, const tensor_view&) { return 0.0; };
    return gradient_with(weights, batch, nothing, out);
  }
  /// As gradient(), of the mean loss and the mean of the added term together; returns the sum of both. Its features are
  /// those of this step: some are dropped where there is dropout.
  virtual double gradient_with(std::span<const tensor_view> weights, const examples_view& batch,
                               const feature_loss& added, gradient_views& out) const = 0;
};

}  // namespace furlong::models
