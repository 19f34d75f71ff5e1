// Phases of training that a model computes itself (models/training_loop.hpp).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/random.hpp"
#include "federated/client/local_training.hpp"
#include "federated/client/workspace.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// A phase of one client, of the examples in workspace::visits.
struct own_phase {
  models::tensor_values start;  ///< trained from here; the result replaces them
  std::span<const std::size_t> tensors;
  local_loop loop;
  std::uint32_t per_epoch = 0;  ///< of the visits those of one epoch
  std::span<const models::gradient_term> terms = {};
  models::tensor_values center = {};  ///< of the proximal term, where the loop has one
  random_stream draws;
  bool dropout = true;
};

/// A seed above 0 of what another program draws.
[[nodiscard]] std::uint64_t seed_from(random_stream draws);
/// Runs the model's own loop, and takes over the tensors of the phase alone, with the buffers that these move.
phase_result run_own_loop(const experiment& e, workspace& use, const own_phase& phase);

}  // namespace furlong::federated
