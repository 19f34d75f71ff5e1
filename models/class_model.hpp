// Models that know the probability of each class, not only the most likely one.
#pragma once

#include "models/model.hpp"

namespace furlong::models {

/// A model of classes (logistic: of labels 0 and 1) or of tokens. Optional for models of these objectives: the others
/// name the most likely class alone.
class class_model : public model {
 public:
  /// Number of classes; of tokens that can be predicted.
  [[nodiscard]] virtual std::uint32_t classes() const = 0;
  /// Writes classes() probabilities per example, which add up to 1: of its label, or (next_token) of the token after
  /// its last. The most likely one is what predict() says. Thread-safe.
  /// @param out examples x classes()
  virtual void probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                             std::span<float> out) const = 0;
};

}  // namespace furlong::models
