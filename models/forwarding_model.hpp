// A model that is another one in all that a class derived from it does not override.
#pragma once

#include <memory>
#include <utility>

#include "models/model.hpp"

namespace furlong::models {

/// @tparam Base model or class_model
template <class Base>
class forwarding_model : public Base {
 public:
  explicit forwarding_model(std::shared_ptr<const Base> like) : like_(std::move(like)) {}

  std::string_view kind() const override { return like_->kind(); }
  const layout_ptr& tensors() const override { return like_->tensors(); }
  models::objective objective() const override { return like_->objective(); }
  bool may_fail() const override { return like_->may_fail(); }
  const training_loop* own_loop() const override { return like_->own_loop(); }
  bool has_gradient() const override { return like_->has_gradient(); }
  bool ranks_pairs() const override { return like_->ranks_pairs(); }
  std::span<const model_metric> metrics() const override { return like_->metrics(); }
  void initialize(std::size_t tensor, random_stream stream, std::span<float> values) const override {
    like_->initialize(tensor, stream, values);
  }
  double gradient(std::span<const tensor_view> weights, const examples_view& batch,
                  gradient_views& out) const override {
    return like_->gradient(weights, batch, out);
  }
  void predict(std::span<const tensor_view> weights, const examples_view& batch, std::span<float> out) const override {
    like_->predict(weights, batch, out);
  }
  void score(std::span<const tensor_view> weights, const examples_view& batch, class_scores& sums) const override {
    like_->score(weights, batch, sums);
  }
  void score_in_batches(std::span<const tensor_view> weights, const examples_view& examples, std::uint32_t batch_size,
                        class_scores& scores) const override {
    like_->score_in_batches(weights, examples, batch_size, scores);
  }
  bool affine_in(std::span<const std::size_t> tensors) const override { return like_->affine_in(tensors); }
  bool affine_in_rows(std::span<const std::size_t> tensors) const override { return like_->affine_in_rows(tensors); }
  void affine_design(std::span<const tensor_view> weights, const examples_view& batch,
                     std::span<const std::size_t> tensors, std::span<float> x, std::span<float> offset) const override {
    like_->affine_design(weights, batch, tensors, x, offset);
  }

 protected:
  std::shared_ptr<const Base> like_;
};

}  // namespace furlong::models
