// The local training of a phase by the model itself, in the place of a step for each batch (working_set::step).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "models/local_step.hpp"
#include "models/tensor_view.hpp"

namespace furlong::models {

/// What is added to the gradient of each step.
struct phase_term {
  enum class form : std::uint8_t {
    values,      ///< factor * values
    weights,     ///< factor * w, w the weights before the step
    difference,  ///< factor * (w - values)
  };
  float factor = 1.0F;
  form what = form::values;
  std::vector<tensor_view> values;  ///< one per tensor of the model; without data: the term is not for this tensor
};

/// A phase: one client trains some tensors, all others are frozen.
struct training_phase {
  std::span<const tensor_view> weights;  ///< at its start, one per tensor; not to be changed
  std::span<float* const> out;           ///< receives the trained tensors and the moved buffers; null: frozen
  std::span<const std::size_t> private_tensors;
  std::span<const phase_term> terms;
  std::span<const std::uint32_t> examples;  ///< their features, one each: the orders of the epochs, one after the other
  std::uint32_t per_epoch = 0;              ///< examples of one order; of the epochs beyond the orders the loop decides
  std::uint32_t epochs = 1;
  std::uint32_t max_steps = 0;   ///< 0: no limit
  std::uint32_t batch_size = 0;  ///< 0: all examples in one batch
  bool shuffle = false;
  sgd_options step;
  bool dropout = true;
  std::uint64_t seed = 1;    ///< of all that it draws; above 0
  std::uint64_t rounds = 0;  ///< of the run
};

/// What a phase of training processed.
struct phase_result {
  std::uint64_t examples = 0;  ///< counting repeats
  double loss_sum = 0.0;       ///< of these, each before its step
  std::uint64_t steps = 0;     ///< really taken
  double rates = 0.0;          ///< the sum of their learning rates
};

/// Immutable and thread-safe, as the model.
class training_loop {
 public:
  virtual ~training_loop() = default;
  /// Trains as the phase says, or by a schedule of its own. Throws model_failure.
  virtual phase_result run(const training_phase& phase) const = 0;
  /// True if each step is w -= rate * gradient, with the terms in the gradient.
  [[nodiscard]] virtual bool takes_plain_steps() const = 0;
};

}  // namespace furlong::models
