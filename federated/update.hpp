// What travels between server, aggregators and clients, as plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "federated/update_size.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// Names one piece of client work. At most one attempt per (run, version, client) is ever folded.
struct task_id {
  std::uint64_t run = 0;      ///< identifies the run: a digest of the resolved scenario
  std::uint64_t version = 0;  ///< server version that the work starts from
  std::uint32_t client = 0;
  std::uint32_t attempt = 0;

  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// The server's model of one version, with what clients and aggregators need to work on it.
struct broadcast {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  models::shared_parameters model;
  std::vector<double> reference;  ///< aggregation rule's constants for this round (FedAtt: c per tensor); may be empty
  update_limits limits = {};      ///< of updates that start from this model
};
using broadcast_ptr = std::shared_ptr<const broadcast>;

/// What a client reports. Holds nothing private: `change` can only be made of shared parameters.
struct client_update {
  task_id id;
  std::uint32_t weight = 0;    ///< examples processed, the weight of the mean rules; 0 is folded as nothing
  std::uint64_t examples = 0;  ///< examples processed in all phases, for throughput figures
  double loss_sum = 0.0;       ///< sum of the losses of the `weight` examples, before each step
  models::delta change;
};

/// Why an update is not folded.
enum class rejection : std::uint8_t {
  unknown_task,     ///< not of this run, or the client was not asked
  stale_version,    ///< of another version than the round's
  duplicate,        ///< an attempt of this client was folded already
  wrong_shape,      ///< tensors, rows or values do not fit the layout
  not_finite,       ///< a NaN or an infinity, or a loss that no training has
  norm_bound,       ///< larger than aggregation.max_norm, privacy.clip or the adaptive limit
  weight_bound,     ///< more examples than aggregation.max_weight, than the client has, or than the adaptive limit
  attention_range,  ///< FedAtt: |s - c| > 30, so that exp(s - c) leaves the accumulator's range
  client_failed,    ///< the client could not do the work
};
constexpr std::size_t rejection_count = 9;
/// The word used in summary.json and events.jsonl: "norm-bound".
[[nodiscard]] std::string_view to_string(rejection why);

/// The stage of its task in which a client dropped out.
enum class drop_stage : std::uint8_t { download, train, upload };
constexpr std::size_t drop_stage_count = 3;
/// The word used in summary.json and events.jsonl: "train".
[[nodiscard]] std::string_view to_string(drop_stage stage);

/// What became of one task. Every task that was given out has exactly one of these, or is still in flight.
enum class outcome : std::uint8_t {
  folded,     ///< its update is in a model
  rejected,   ///< its update was not fit: `why`
  late,       ///< it reported after the round's deadline
  surplus,    ///< it reported after the round had all the reports that it needed
  dropped,    ///< it never reported: `stage`
  abandoned,  ///< its round was abandoned: too few reports
};
/// The word used in events.jsonl: "surplus".
[[nodiscard]] std::string_view to_string(outcome what);

/// How a task ended, as an aggregator tells the server.
struct settlement {
  task_id id;
  outcome what = outcome::folded;
  rejection why = rejection::unknown_task;  ///< rejected only
  drop_stage stage = drop_stage::download;  ///< dropped only
  std::uint64_t examples = 0;               ///< processed for the update; 0 when none arrived
  std::uint64_t bytes = 0;                  ///< encoded size of the update; 0 when none arrived
  double loss = 0.0;                        ///< mean training loss per example; 0 when none arrived
  /// With evaluation.attention, of a folded update: how far it moved each tensor, as the rule measures it.
  std::vector<float> distances = {};
  update_size size = {};  ///< of an update that is sound but for its size
};

/// One client's outcome as an aggregator lists it.
struct member {
  std::uint32_t client = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const member&, const member&) = default;
};
struct refused_member {
  member who;
  rejection why = rejection::unknown_task;
};

/// An accumulator's content, independent of machine and thread count. Restoring it gives the accumulator back.
struct accumulator_state {
  std::vector<std::int64_t> words;
  friend bool operator==(const accumulator_state&, const accumulator_state&) = default;
};

/// What an aggregator sends up: 8 (or 16) bytes per parameter, however many clients stand below.
struct partial_aggregate {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  std::uint32_t aggregator = 0;
  std::vector<member> folded;           ///< sorted by client
  std::vector<refused_member> refused;  ///< sorted by client
  std::uint64_t examples = 0;           ///< of the folded updates, all phases
  std::uint64_t weight = 0;             ///< sum of the folded updates' weights
  std::int64_t loss_fixed = 0;          ///< sum of the folded updates' losses in units of 2^-20: exact in any order
  accumulator_state sums;
};

}  // namespace furlong::federated
