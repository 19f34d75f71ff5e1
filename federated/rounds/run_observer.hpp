// What engines report to their caller, and what they return.
#pragma once

#include <array>
#include <atomic>
#include <cmath>
#include <functional>
#include <optional>
#include <string>

#include "federated/aggregation/attention.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// A task in the timeline of a round.
struct task_span {
  std::uint32_t client = 0;
  virtual_time started_at = 0;
  std::optional<virtual_time> ended_at;  ///< none: in flight at the end of the round
  outcome what = outcome::folded;
};

/// A line of events.jsonl.
struct run_event {
  virtual_time at = 0;
  std::uint64_t round = 0;                  ///< the current round
  std::string what;                         ///< "dropped", "late", "rejected", "join", "leave", "abandoned", ...
  std::optional<std::uint32_t> client;      ///< the client concerned
  std::optional<std::uint32_t> last;        ///< a range of clients: client to last
  std::string detail;                       ///< the stage or the reason; may be empty
  std::vector<std::uint32_t> members = {};  ///< clients that are not a range, ascending
  std::string processes = {};               ///< processes of a simulated federation: "nodes 0-3"
  std::string cause = {};                   ///< of a dropout, where it is known: "drawn", "off", ...
};

/// Of each client that an evaluation names as unscored, with its group and what is not finite.
[[nodiscard]] inline std::vector<run_event> unscored_events(const evaluation_report& figures, virtual_time now) {
  std::vector<run_event> events;
  for (const auto& one : figures.unscored)
    events.push_back({now,
                      figures.version,
                      "unscored",
                      one.client,
                      {},
                      std::string(group_names.at(static_cast<std::size_t>(one.in))) + " " + one.figure});
  return events;
}

/// A finished round. In an asynchronous run a round makes one version.
struct round_report {
  std::uint64_t version = 0;  ///< the server version made by the round: 1 after the first round
  virtual_time began_at = 0;
  virtual_time ended_at = 0;
  std::uint64_t selected = 0;  ///< tasks assigned during the round
  // How tasks ended during the round; in a synchronous run late and surplus ones belong to earlier rounds.
  std::uint64_t folded = 0;
  std::uint64_t rejected = 0;
  std::uint64_t late = 0;
  std::uint64_t surplus = 0;
  std::array<std::uint64_t, drop_stage_count> dropped{};
  std::uint64_t abandoned = 0;
  std::uint64_t in_flight = 0;  ///< at its end
  std::uint64_t probed = 0;     ///< clients checked by selection, each counted once
  std::uint64_t available = 0;  ///< of these, available at least once
  std::uint64_t sent_keys = 0;  ///< clients that sent keys for secure aggregation: two thirds of them open the sum
  std::uint64_t examples = 0;
  std::uint64_t bytes_up = 0;
  std::uint64_t bytes_down = 0;
  double loss = 0.0;         ///< mean training loss per example before its step; NaN: must not be reported
  double change_norm = 0.0;  ///< L2 norm of the aggregated change
  bool applied = true;       ///< false: nothing usable was aggregated, the model is unchanged
  bool gave_up = false;      ///< the round was abandoned
  std::vector<refused_member> refused = {};
  std::vector<std::uint64_t> staleness =
      {};  ///< aggregated updates by staleness: 0, 1, 2, ... versions; asynchronous runs only
  std::vector<std::uint32_t> cohort = {};           ///< clients selected during the round, in order
  std::vector<task_id> members = {};                ///< tasks aggregated into the version
  std::vector<round_figure> figures = {};           ///< of the algorithm
  std::optional<attention_weights> attention = {};  ///< of the aggregated updates; with evaluation.attention
  std::vector<task_span> spans = {};                ///< tasks of the first and the middle round of a run, at most 200

  /// Updates were aggregated, and their loss may be reported.
  [[nodiscard]] bool has_loss() const { return applied && folded > 0 && !std::isnan(loss); }
};

/// Callbacks of a run, each optional; called in order, one at a time. A failing callback ends the run with its error.
struct run_observer {
  std::function<result<void>(const round_report&)> on_round = {};
  std::function<result<void>(const evaluation_report&)> on_evaluation = {};
  /// Makes the state durable. Called after the private store was synced.
  std::function<result<void>(server_state&)> on_checkpoint = {};
  /// In order of time; those of a round before its on_round.
  std::function<result<void>(const run_event&)> on_event = {};
};

/// How a run ended.
struct run_outcome {
  server_state state;
  evaluation_report evaluation;  ///< of the final model; empty when interrupted
  bool interrupted = false;      ///< stopped before the last round, after a checkpoint
};

}  // namespace furlong::federated
