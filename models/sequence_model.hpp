// Shared by the models of token sequences: options for widths, selection of gradients, and all that models of the next
// token do alike.
#pragma once

#include <cstdint>
#include <string>

#include "models/class_model.hpp"
#include "models/layers/dense.hpp"
#include "models/layers/next_tokens.hpp"

namespace furlong::models {

/// An option for the width of a layer, at least 1.
[[nodiscard]] option_spec width_option(std::string name, std::int64_t fallback, std::string doc);
[[nodiscard]] std::uint32_t width_of(const option_values& options, std::string_view name);

/// True if the gradient of one of the tensors first, ..., last - 1 is computed.
[[nodiscard]] bool any_trained(const gradient_views& out, std::size_t first, std::size_t last);

/// A model that predicts each token from those before it, by a softmax over the words on the outputs of its other
/// layers. The activations of a step are in step_arena(), which is cleared before each.
class next_token_model : public class_model {
 public:
  const layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return objective::next_token; }
  std::uint32_t classes() const override { return words_; }
  double gradient(std::span<const tensor_view> weights, const examples_view& batch, gradient_views& out) const override;
  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override;
  void probabilities(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<float> out) const override;
  void score(std::span<const tensor_view> weights, const examples_view& batch, class_scores& scores) const override;

 protected:
  /// @param block number of sentences that are predicted or scored at once
  next_token_model(std::uint32_t words, std::size_t block) : words_(words), block_(block) {}

  /// The sequences of a batch of sentences: by default the sentences.
  [[nodiscard]] virtual token_sequences arrange(const token_sequences& sentences) const { return sentences; }
  /// The input of the output layer, a row for each of the packed tokens. `noise` is that of dropout; null: none.
  [[nodiscard]] virtual tensor_view forward(std::span<const tensor_view> weights, const next_tokens& tokens,
                                            random_stream* noise) const = 0;
  /// After forward() on the same tokens, from d_h = dL/d(its result), which may be overwritten: the gradients of all
  /// but the output layer.
  virtual void backward(std::span<const tensor_view> weights, const next_tokens& tokens, const tensor_view& d_h,
                        const gradient_views& out) const = 0;

  std::uint32_t words_;
  std::size_t output_ = 0;       ///< the tensors of the output layer
  std::size_t output_bias_ = 0;  ///< the last tensor
  std::size_t inner_ = 0;        ///< tensors below are those of other layers
  layout_ptr tensors_;

 private:
  [[nodiscard]] dense_weights output_of(std::span<const tensor_view> weights) const {
    return {weights[output_], weights[output_bias_].data};
  }
  [[nodiscard]] bool lay_out(const examples_view& batch, next_tokens& tokens) const;
  template <class Work>
  void each_block(const examples_view& batch, const Work& work) const;
  template <class Work>
  void after_last(std::span<const tensor_view> weights, const examples_view& batch, const Work& work) const;

  std::size_t block_;
};

}  // namespace furlong::models
