// What the rest of the project must know about an algorithm, as plain data; and the selected algorithm of a run.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/options.hpp"

namespace furlong::federated {

class algorithm;

/// model.private: ignored (all tensors are shared), allowed (it may name tensors), or required (it must).
enum class private_use : std::uint8_t { ignored, allowed, required };
/// What keys the initial private values: the client alone, the client and the task's model version, or nothing: all
/// clients start with the values that the tensors would have as shared ones.
enum class private_start : std::uint8_t { per_client, per_task, common };

/// What becomes of a training loop of the model's own (models::model::own_loop).
enum class own_loop_use : std::uint8_t {
  allowed,  ///< it computes the phases of training
  plain,    ///< the same, if it takes plain gradient steps
  unused,   ///< the algorithm takes steps of its own, by gradients
  refused   ///< the algorithm has nothing that is such a phase
};

struct algorithm_traits {
  private_use private_tensors = private_use::ignored;
  private_start start = private_start::per_client;
  bool keeps_state = false;  ///< private values are loaded before a task and stored after it
  /// Server values are sums of what clients keep. So clients keep exactly what the server aggregates: nothing may
  /// change updates on the way, and with private.commit = "after-ack" a value waits durably for the verdict on its
  /// update.
  bool exact_state = false;
  bool reconstructs = false;    ///< private values are reconstructed in every task, and for every client that is scored
  bool splits_support = false;  ///< of a task's batches even ones are the support, odd ones the query
  bool affine_rows = false;     ///< the model's predictions must be affine in the shared rows that an example names
  bool needs_features = false;  ///< the model must be one of features and a linear head (models::feature_model)
  bool implicit = false;        ///< the data must be implicit feedback (models::objective::ranking)
  bool negatives = true;        ///< tasks on implicit feedback have negatives drawn; false: interactions alone
  bool steps = true;            ///< false: no learning rate and no optimizer, on clients or the server
  bool sends = true;            ///< false: one participant with all clients' data, and nothing crosses a network
  bool async = true;            ///< participation.mode may be "async"
  bool mixes = true;            ///< and participation.update "model"
  /// Training changes rows that a client's examples do not name: tasks work on whole tensors.
  bool needs_all_rows = false;
  own_loop_use own_loop = own_loop_use::allowed;
  /// The server sees the updates of single clients (aggregate::updates): synchronous runs in one process, whose sums
  /// hide nobody.
  bool sees_updates = false;
  /// What the shared state still holds of a client after its private values are erased: "scaffold/c still ...".
  std::string erase_note = {};
  /// Valid values of algorithm.aggregation.rule; empty: all.
  std::vector<std::string> rules = {};
  /// Defaults of keys of other tables: {"private.commit", "after-ack"}.
  std::vector<std::pair<std::string, option_value>> defaults = {};
};

/// The algorithm of a run. Copies share the algorithm itself, which is immutable.
struct chosen_algorithm {
  /// The first algorithm of the table.
  chosen_algorithm();
  /// @param options values of algorithm.KIND.*; those that are missing have their fallbacks
  /// Throws std::invalid_argument when no such kind is registered, it is an alias, or the options do not fit.
  explicit chosen_algorithm(std::string_view kind, const option_values& options = {});

  std::string kind;
  algorithm_traits traits;
  std::shared_ptr<const algorithm> does;  ///< never null
};

}  // namespace furlong::federated
