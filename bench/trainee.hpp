// A model in training, without a federation around it.
#pragma once

#include <memory>

#include "models/working_set.hpp"

namespace furlong::bench {

/// A model with its initial values (of seed 1), ready to train on all examples of a table. One thread at a time.
class trainee {
 public:
  trainee(std::shared_ptr<const models::model> model, const models::examples& data, const models::sgd_options& how);
  trainee(const trainee&) = delete;
  trainee& operator=(const trainee&) = delete;

  /// One SGD step on examples first to last - 1; returns their mean loss.
  double step(std::size_t first, std::size_t last);
  [[nodiscard]] const models::shared_parameters& start() const { return start_; }

 private:
  std::shared_ptr<const models::model> model_;
  models::sgd_options how_;
  models::partition parts_;
  models::shared_parameters start_;
  models::private_parameters own_;
  models::working_set weights_;
};

}  // namespace furlong::bench
