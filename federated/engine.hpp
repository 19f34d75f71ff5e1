// What both engines tell their caller, and what they return.
#pragma once

#include <atomic>
#include <functional>

#include "federated/evaluation.hpp"
#include "federated/protocol/server_state.hpp"

namespace furlong::federated {

/// One round, as it ended.
struct round_report {
  std::uint64_t version = 0;  ///< the server version that the round made: 1 after the first round
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t examples = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  double loss = 0.0;         ///< mean training loss per example before its step
  double change_norm = 0.0;  ///< L2 norm of the aggregated change
  bool applied = true;       ///< false: nothing usable was folded, the model stayed as it was
  std::vector<refused_member> refused;
};

/// Callbacks of a run, each of which may be empty; called from one thread at a time, in order. A failure of a callback
/// ends the run with it.
struct run_observer {
  std::function<result<void>(const round_report&)> on_round;
  std::function<result<void>(const evaluation_report&)> on_evaluation;
  /// Makes the state durable. Called after the private store was synced.
  std::function<result<void>(protocol::server_state&)> on_checkpoint;
};

/// How a run ended.
struct run_outcome {
  protocol::server_state state;
  evaluation_report evaluation;  ///< of the final model; empty when interrupted
  bool interrupted = false;      ///< stopped before the last round, after a checkpoint
};

/// Seconds of processor time that this process has used.
[[nodiscard]] double process_cpu_seconds();

}  // namespace furlong::federated
