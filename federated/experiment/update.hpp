// Data exchanged by server, aggregators and clients, as plain values.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "federated/settings/update_size.hpp"
#include "models/delta.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// Identifies one client task. At most one attempt per (run, version, client) is aggregated.
struct task_id {
  std::uint64_t run = 0;      ///< identifies the run: a digest of the resolved scenario
  std::uint64_t version = 0;  ///< server version that the work starts from
  std::uint32_t client = 0;
  std::uint32_t attempt = 0;

  friend auto operator<=>(const task_id&, const task_id&) = default;
};

/// The server's model of one version, with what clients and aggregators need to work with it.
struct broadcast {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  models::shared_parameters model;
  std::vector<double> reference;  ///< aggregation rule's constants for this round (FedAtt: c per tensor); may be empty
  update_limits limits = {};      ///< of updates that start from this model
};
using broadcast_ptr = std::shared_ptr<const broadcast>;

/// A client's report. Holds nothing private: `change` is made of shared parameters only.
struct client_update {
  task_id id;
  std::uint32_t weight = 0;    ///< examples processed, the weight of the mean rules; 0: the update adds nothing
  std::uint64_t examples = 0;  ///< examples processed in all phases, for throughput figures
  double loss_sum = 0.0;       ///< sum of the losses of the `weight` examples, before each step
  models::delta change;
  /// Under secure aggregation, in place of all but `id`: the masked words of the update. Numbers above are 0 then.
  std::vector<std::int64_t> words = {};
  std::uint64_t masked_for = 0;  ///< server version of the sum in which the masks cancel
  friend bool operator==(const client_update&, const client_update&) = default;
};

/// Why an update is not aggregated.
enum class rejection : std::uint8_t {
  unknown_task,     ///< of another run, or the client was not selected
  stale_version,    ///< for another version than the round's
  duplicate,        ///< an attempt of this client was already aggregated
  wrong_shape,      ///< tensors, rows or values do not match the layout
  not_finite,       ///< a NaN, an infinity, or an impossible loss
  norm_bound,       ///< larger than aggregation.max_norm, privacy.clip or the adaptive limit
  weight_bound,     ///< more examples than aggregation.max_weight, than the client has, or than the adaptive limit
  attention_range,  ///< FedAtt: |s - c| > 30: exp(s - c) exceeds the accumulator's range
  client_failed,    ///< the client failed
};
constexpr std::size_t rejection_count = 9;
/// The word used in summary.json and events.jsonl: "norm-bound".
[[nodiscard]] std::string_view to_string(rejection why);

/// The stage of its task in which a client dropped out.
enum class drop_stage : std::uint8_t { download, train, upload };
constexpr std::size_t drop_stage_count = 3;
/// The word used in summary.json and events.jsonl: "train".
[[nodiscard]] std::string_view to_string(drop_stage stage);

/// The outcome of a task. Every assigned task has exactly one, or is in flight.
enum class outcome : std::uint8_t {
  folded,     ///< its update is in a model
  rejected,   ///< its update is invalid: `why`
  late,       ///< it reported after the round's deadline
  surplus,    ///< over-selected: it reported after the round had enough reports
  dropped,    ///< it never reported: `stage`
  abandoned,  ///< its round was abandoned for too few reports
};
/// The word used in events.jsonl: "surplus".
[[nodiscard]] std::string_view to_string(outcome what);

/// The outcome of a task, as an aggregator reports it to the server.
struct settlement {
  task_id id;
  outcome what = outcome::folded;
  rejection why = rejection::unknown_task;  ///< rejected only
  drop_stage stage = drop_stage::download;  ///< dropped only
  std::uint64_t examples = 0;               ///< processed for the update; 0 when none arrived
  std::uint64_t bytes = 0;                  ///< encoded size of the update; 0 when none arrived
  double loss = 0.0;                        ///< mean training loss per example; 0 when none arrived
  /// With evaluation.attention, of an aggregated update: how far it moved each tensor, as the rule measures it.
  std::vector<float> distances = {};
  update_size size = {};  ///< of an update that passed all checks but those of size
};

/// A client's task as an aggregator lists it.
struct member {
  std::uint32_t client = 0;
  std::uint32_t attempt = 0;
  friend auto operator<=>(const member&, const member&) = default;
};
struct refused_member {
  member who;
  rejection why = rejection::unknown_task;
};

/// An accumulator's content, independent of machine and thread count. merge() restores it.
struct accumulator_state {
  std::vector<std::int64_t> words;
  /// Single updates, sorted by task, where the rule or the algorithm needs them: in one process only.
  std::vector<client_update> updates = {};
  friend bool operator==(const accumulator_state&, const accumulator_state&) = default;
};

/// What an aggregator sends to its parent: 8 (or 16) bytes per parameter, for any number of clients.
struct partial_aggregate {
  std::uint64_t run = 0;
  std::uint64_t version = 0;
  std::uint32_t aggregator = 0;
  std::vector<member> folded;           ///< sorted by client
  std::vector<refused_member> refused;  ///< sorted by client
  std::uint64_t examples = 0;           ///< of the aggregated updates, all phases
  std::uint64_t weight = 0;             ///< sum of their weights
  std::int64_t loss_fixed = 0;          ///< sum of their losses in units of 2^-20: exact in any order
  accumulator_state sums;
};

}  // namespace furlong::federated
