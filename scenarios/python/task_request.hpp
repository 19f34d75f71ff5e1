// Requests of whole tasks of an algorithm, and of what predicts for a client, as bytes. docs/trainer-protocol.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/large_memory.hpp"
#include "federated/experiment/algorithm.hpp"
#include "models/model.hpp"
#include "scenarios/python/memory_room.hpp"
#include "scenarios/python/step_request.hpp"

namespace furlong::scenarios {

/// What is asked about a client that is predicted for.
struct personal_question {
  enum class kind : std::uint32_t { values, score, predict } what = kind::values;
  federated::client_kind who;
  std::span<const std::uint32_t> asked = {};  ///< examples; none where the values are asked for
};

/// A client's task, or the search for what predicts for it. What the trainer writes lies apart from what it reads.
struct task_request {
  std::uint64_t seed = 1;
  std::uint32_t client = 0;
  std::vector<models::tensor_view> weights;  ///< at the start: the model as received and the client's private tensors
  std::vector<float*> out;             ///< where to the weights after it, one for each; empty: they are not wanted
  std::vector<exchanged_array> added;  ///< tensors that the algorithm adds
  std::span<const std::uint32_t> examples = {};  ///< as training_phase::examples
  std::uint32_t per_epoch = 0;
  std::string settings;                            ///< text_of(loop_settings)
  std::optional<personal_question> question = {};  ///< none: a task

  /// As step_request::write().
  /// @param round as in step_request
  void write(std::span<const std::uint32_t> starts, std::uint32_t round, request_buffer& request,
             large_floats& copies) const;
  /// After the reply: what the trainer wrote, to where it is wanted.
  void read_copies(large_floats& copies) const;
};

}  // namespace furlong::scenarios
