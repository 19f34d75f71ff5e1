// What both engines tell their caller, and what they return.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <optional>
#include <string>

#include "federated/aggregation/attention.hpp"
#include "federated/evaluation.hpp"
#include "federated/protocol/server_state.hpp"

namespace furlong::federated {

/// A task in the timeline of a round.
struct task_span {
  std::uint32_t client = 0;
  virtual_time started_at = 0;
  std::optional<virtual_time> ended_at;  ///< none: it was still at work when the round ended
  outcome what = outcome::folded;
};

/// Something that is worth a line in events.jsonl.
struct run_event {
  virtual_time at = 0;
  std::uint64_t round = 0;                  ///< being made
  std::string what;                         ///< "dropped", "late", "rejected", "join", "leave", "abandoned", ...
  std::optional<std::uint32_t> client;      ///< whom it is about
  std::optional<std::uint32_t> last;        ///< a range of clients: client to last
  std::string detail;                       ///< the stage or the reason; may be empty
  std::vector<std::uint32_t> members = {};  ///< several clients that are no range, ascending
  std::string processes = {};               ///< of a simulated federation, which it is about: "nodes 0-3"
};

/// One round, as it ended. An asynchronous run's round is what made one version.
struct round_report {
  std::uint64_t version = 0;  ///< the server version that the round made: 1 after the first round
  virtual_time began_at = 0;
  virtual_time ended_at = 0;
  std::uint64_t selected = 0;  ///< tasks given out during the round
  // How tasks ended during the round; in a synchronous run late and surplus ones belong to earlier rounds.
  std::uint64_t folded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t late = 0;
  std::uint64_t surplus = 0;
  std::array<std::uint64_t, drop_stage_count> dropped{};
  std::uint64_t abandoned = 0;
  std::uint64_t in_flight = 0;  ///< at its end
  std::uint64_t probed = 0;     ///< clients looked at by the selection, each once however often it looked
  std::uint64_t available = 0;  ///< of these, those that could be asked at one of the looks
  std::uint64_t examples = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  double loss = 0.0;         ///< mean training loss per example before its step
  double change_norm = 0.0;  ///< L2 norm of the aggregated change
  bool applied = true;       ///< false: nothing usable was folded, the model stayed as it was
  bool gave_up = false;      ///< the round was abandoned
  std::vector<refused_member> refused;
  std::vector<std::uint64_t> staleness;  ///< folded updates by staleness: 0, 1, 2, ... versions; asynchronous runs only
  std::vector<task_id> members;          ///< whose updates the version took in; where clients are routed only
  std::optional<attention_weights> attention;  ///< of the updates folded; with evaluation.attention
  std::vector<task_span> spans;                ///< of the first and the middle round of a run: its tasks, at most 200
};

/// Callbacks of a run, each of which may be empty; called from one thread at a time, in order. A failure of a callback
/// ends the run with it.
struct run_observer {
  std::function<result<void>(const round_report&)> on_round = {};
  std::function<result<void>(const evaluation_report&)> on_evaluation = {};
  /// Makes the state durable. Called after the private store was synced.
  std::function<result<void>(protocol::server_state&)> on_checkpoint = {};
  /// In the order of time; those of a round before its on_round.
  std::function<result<void>(const run_event&)> on_event = {};
};

/// How a run ended.
struct run_outcome {
  protocol::server_state state;
  evaluation_report evaluation;  ///< of the final model; empty when interrupted
  bool interrupted = false;      ///< stopped before the last round, after a checkpoint
};

}  // namespace furlong::federated
