// A model of one tensor that only says what it is.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "models/model.hpp"

namespace furlong::tests {

class described_model final : public models::model {
 public:
  described_model(models::objective what, std::vector<models::model_metric> metrics)
      : what_(what), metrics_(std::move(metrics)) {}

  std::string_view kind() const override { return "described"; }
  const models::layout_ptr& tensors() const override { return tensors_; }
  models::objective objective() const override { return what_; }
  std::span<const models::model_metric> metrics() const override { return metrics_; }
  void initialize(std::size_t, random_stream, std::span<float>) const override {}
  double gradient(std::span<const models::tensor_view>, const models::examples_view&,
                  models::gradient_views&) const override {
    return 0.0;
  }
  void predict(std::span<const models::tensor_view>, const models::examples_view&, std::span<float>) const override {}

 private:
  models::objective what_;
  std::vector<models::model_metric> metrics_;
  models::layout_ptr tensors_ = std::make_shared<const models::layout>(std::vector<models::tensor_spec>{{.name = "w"}});
};

inline std::shared_ptr<const models::model> model_with(models::objective what,
                                                       std::vector<models::model_metric> metrics = {}) {
  return std::make_shared<const described_model>(what, std::move(metrics));
}

}  // namespace furlong::tests
