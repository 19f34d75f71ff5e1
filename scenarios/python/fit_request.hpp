// Requests of phases of training as bytes. docs/trainer-protocol.md.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "base/large_memory.hpp"
#include "models/training_loop.hpp"
#include "scenarios/python/problem.hpp"
#include "scenarios/python/step_request.hpp"

namespace furlong::scenarios {

/// A phase of training of one client.
struct fit_request {
  const models::training_phase& phase;
  std::span<const problem_parameter> parameters;
  std::uint32_t round = 0;  ///< as in step_request

  /// As step_request::write(). All examples are of one part of one client.
  void write(std::span<const std::uint32_t> starts, request_buffer& request, large_floats& copies) const;
  /// After the reply: trained tensors that the trainer wrote into copies, to phase.out.
  void read_copies(large_floats& copies) const;
};

/// Whether all examples are of one part of one client.
[[nodiscard]] bool is_of_one_part(std::span<const std::uint32_t> starts, std::span<const std::uint32_t> examples);

}  // namespace furlong::scenarios
