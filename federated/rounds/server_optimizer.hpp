// Server optimizers: -(aggregated change) is a gradient, as in "Adaptive federated optimization" (Reddi et al. 2021).
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/box.hpp"
#include "federated/state/server_state.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

struct server_settings;

/// Applies one round's delta. With g = -delta, elementwise:
///   sgd      v = momentum v + g;                 w -= lr v
///   adagrad  v += g^2;                           w -= lr g / (sqrt(v) + eps)
///   adam     m = b1 m + (1-b1) g;  v = b2 v + (1-b2) g^2;               w -= lr m / (sqrt(v) + eps)
///   yogi     as adam, but v += (1-b2) sign(g^2 - v) g^2
/// With bias_correction m / (1 - b1^t) and v / (1 - b2^t) take the places of m and v in step t of w, so that eps is
/// compared with the corrected root: Adam's algorithm 1 (Kingma and Ba 2015), as local Adam (models/local_step.hpp). v
/// starts at initial_accumulator. The delta of buffers is no gradient, and is added as it is. One thread at a time.
class server_optimizer {
 public:
  server_optimizer(const server_settings& settings, const models::layout_ptr& shared);

  void apply(const models::shared_parameters& change, models::shared_parameters& model);
  [[nodiscard]] const optimizer_state& state() const { return state_; }
  /// Restores a saved state. Its slots must have the sizes of this optimizer's.
  void restore(optimizer_state state) { state_ = std::move(state); }

 private:
  /// Values at begin, ..., begin + size - 1.
  struct values_range {
    std::size_t begin = 0;
    std::size_t size = 0;
    bool is_buffer = false;
  };
  /// The values of one range; those of slots begin at `begin`.
  void apply_sgd(std::size_t begin, std::span<const float> change, std::span<float> w);
  void apply_adagrad(std::size_t begin, std::span<const float> change, std::span<float> w);
  void apply_moments(std::size_t begin, std::span<const float> change, std::span<float> w);

  box<server_settings> settings_;
  optimizer_state state_;
  std::vector<values_range> ranges_;  ///< of the layout, without two alike in a row
};

}  // namespace furlong::federated
