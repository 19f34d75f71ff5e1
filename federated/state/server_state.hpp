// The state that a server needs to resume a run.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "federated/experiment/private_store.hpp"
#include "federated/settings/update_size.hpp"
#include "federated/state/accounting.hpp"
#include "federated/state/known_stores.hpp"
#include "federated/state/ledger.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// A server optimizer's memory: named by its kind, sized by it.
struct optimizer_state {
  std::uint64_t steps = 0;
  std::vector<std::vector<float>>
      slots;  ///< first moment, second moment, ...; each of the shared layout's size or empty
  friend bool operator==(const optimizer_state&, const optimizer_state&) = default;
};

/// Aggregator number of a task without an aggregator.
constexpr std::uint32_t nowhere = 0xffffffffU;

/// An assigned task without an outcome.
struct open_task {
  task_id id;
  std::uint32_t aggregator = 0;
  virtual_time started_at = 0;
  bool closed = false;   ///< its round is over: whatever arrives is late or surplus
  bool surplus = false;  ///< closed because the round had enough reports

  friend auto operator<=>(const open_task&, const open_task&) = default;
};

/// Why a client dropped out: by a draw of [dropout], because its device became unavailable, by an event, or because its
/// node was not back in time.
enum class drop_cause : std::uint8_t { drawn, off, left, killed, unresponsive, deadline };
constexpr std::size_t drop_cause_count = 6;

/// A time in which a client is behind a partition: `to` is never until it is healed.
struct disconnection {
  virtual_time from = 0;
  virtual_time to = never;
  friend auto operator<=>(const disconnection&, const disconnection&) = default;
};

/// An open task in the simulation: its fate, including events since.
struct simulated_task {
  task_id id;
  virtual_time started_at = 0;
  virtual_time trained_at = never;
  virtual_time ends_at = never;
  std::optional<drop_stage> dropped;
  drop_cause cause = drop_cause::drawn;     ///< dropped only
  std::vector<disconnection> offline = {};  ///< since its start, in order; only the last one may not be healed

  friend auto operator<=>(const simulated_task&, const simulated_task&) = default;
};

/// The simulation's history.
struct simulation_state {
  std::vector<simulated_task> tasks;    ///< tasks in flight, by client
  std::vector<std::uint32_t> events;    ///< indices of the events that have happened, in order
  std::vector<std::uint32_t> erasures;  ///< clients to be erased once the next checkpoint is durable
  friend bool operator==(const simulation_state&, const simulation_state&) = default;
};

/// The model of an evaluation with evaluation.select = "best".
struct best_model {
  std::string metric;         ///< that it was chosen by
  std::string scoring;        ///< scoring_id() of its evaluation
  double figure = 0.0;        ///< and its value
  std::uint64_t version = 0;  ///< that made it
  models::shared_parameters model;
  models::shared_parameters added = {};  ///< as in the server's state
};

/// The best validation figure so far, for scenario.until.patience.
struct validation_progress {
  std::string metric;           ///< selection_metric() of the evaluations
  std::string scoring;          ///< and their scoring_id()
  double figure = 0.0;          ///< the best; the first of equal ones
  std::uint64_t best = 0;       ///< version that has it
  std::uint64_t evaluated = 0;  ///< last evaluated version

  friend bool operator==(const validation_progress&, const validation_progress&) = default;
};

/// A model, and the version that made it. Looks into a server_state.
struct model_version {
  std::uint64_t version = 0;
  const models::shared_parameters& model;
  const models::shared_parameters* added = nullptr;  ///< the server's tensors of the algorithm; null: there are none
};

/// The broadcast of an earlier version, and the limits of updates that start from it.
struct earlier_model {
  models::shared_parameters model;
  update_limits limits;
};

/// What rounds/divergence.hpp compares with, and the reason of a divergence.
struct loss_watch {
  std::optional<double> training;                   ///< median over the clients of the first version that had any
  std::array<std::optional<double>, 4> evaluation;  ///< of the groups, by number
  std::string diverged;                             ///< the reason; empty: none
  /// Rejected as too large or not finite in the last versions, of which each had hardly any other updates.
  std::uint64_t rejected_in_a_row = 0;
  /// Of the groups, by number: some evaluation was clearly better than a constant prediction.
  std::array<bool, 4> beat_constant{};
  std::string scoring;  ///< of these evaluations (scoring_id()); empty: there were none

  friend bool operator==(const loss_watch&, const loss_watch&) = default;
};

/// The content of a checkpoint. Random streams are keyed, so none are stored.
struct server_state {
  std::uint64_t run = 0;       ///< the run's id: a checkpoint of another scenario is refused
  std::uint64_t start_id = 0;  ///< drawn when the run began from nothing, where nodes must distinguish its starts; or 0
  std::string data_sha256;     ///< of the files that the data were read from; empty: unknown, or there are none
  std::string code;            ///< files of source code that compute data and model, with digests; empty: none
  bool code_changed = false;   ///< earlier rounds were made with another version of that code
  std::string arithmetic;      ///< what results of that code depend on besides it; empty: unknown
  std::uint64_t version = 0;   ///< rounds done
  virtual_time now = 0;        ///< the run's clock; stands still under the real clock
  models::shared_parameters model;
  models::shared_parameters added;  ///< tensors of the algorithm (partition::server); of no layout where there are none
  optimizer_state optimizer;
  std::vector<double> reference;  ///< the aggregation rule's constants for the next round
  accounting counts;
  std::vector<open_task> open;                          ///< by client
  std::map<std::uint64_t, earlier_model> started_from;  ///< of the versions that open tasks need
  size_history sizes;                                   ///< of the updates of closed versions
  loss_watch losses;
  std::shared_ptr<participation_ledger> ledger;  ///< shared with the machine that writes it
  simulation_state simulation;
  std::optional<virtual_time> target_reached;   ///< when evaluation.target was first reached
  std::uint64_t target_version = 0;             ///< and the version that did
  std::string target_id;                        ///< target_id() of that target; empty: none was reached
  std::shared_ptr<const best_model> best;       ///< of all evaluations so far; null: none, or not asked for
  std::optional<validation_progress> progress;  ///< of all evaluations so far; nothing: none had the figure
  /// The model of this version is still to be evaluated, since the model failed: a resumed run begins with that.
  bool evaluation_due = false;
  std::string unwritten_round;  ///< then: the line of its round for metrics.jsonl, which the evaluation completes
  run_history history;
  store_save private_save;   ///< of the run's private store that belongs to this state; nodes have their own
  known_stores stores;       ///< of the nodes of a federation
  std::string kernel_level;  ///< of a checkpoint that was read: of the kernels that computed it; empty: unknown
  std::set<std::string> kernel_levels;  ///< of all processes that took part before, with this one or in earlier lives
  double wall_seconds = 0.0;            ///< spent in all lives up to here
  double cpu_seconds = 0.0;
  double train_seconds = 0.0;                         ///< of these, in rounds: evaluation and checkpoints apart
  double train_cpu_seconds = 0.0;                     ///< processor time of the same
  std::map<std::string, std::uint64_t> output_bytes;  ///< length of each output file at this moment, by file name

  [[nodiscard]] model_version last() const { return {version, model, &added}; }
  /// The final model of a run that ends here: the best if selected, else the last.
  [[nodiscard]] model_version chosen() const {
    return best ? model_version{best->version, best->model, &best->added} : last();
  }
};

}  // namespace furlong::federated
