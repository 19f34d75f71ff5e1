// Verdicts on updates that their clients have not received yet.
#pragma once

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

#include "federated/experiment/update.hpp"
#include "federated/state/ledger.hpp"

namespace furlong::federated::protocol {

/// Ended tasks of clients that are routed, as long as their clients do not know the end.
///
/// A node keeps an update, and lists it whenever it joins, until it hears that a durable checkpoint holds it or that no
/// model ever will. Hence:
///   - an update in a model is unsaved until the next checkpoint, for its client may have to send it again when the run
///     is resumed from an earlier one;
///   - an update that no model will have is mentioned once; a client that is not reached then is told by judge(), when
///     it lists the task;
///   - while a later update of the same client is unsaved, nothing is said of an earlier one: the client's private
///     values are those of the later one. Its end is known when that is durable.
class verdict_book {
 public:
  /// The task ended without an update in a model, and its client does not know.
  void add_unused(const task_id& task) { unused_.push_back(task); }
  /// Its update was rejected.
  void add_rejected(const task_id& task, rejection reason) { rejected_[reason].push_back(task); }
  /// Updates of these tasks are in the model of the version after `version`.
  void add_to_model(const std::vector<task_id>& tasks, std::uint64_t version);

  /// Tasks to be mentioned as unused, or as rejected. Empty after it.
  [[nodiscard]] std::vector<task_id> take_unused() { return std::exchange(unused_, {}); }
  [[nodiscard]] std::map<rejection, std::vector<task_id>> take_rejected() { return std::exchange(rejected_, {}); }

  /// Number of unsaved updates.
  [[nodiscard]] std::size_t unsaved() const { return unsaved_.size(); }
  struct saved_updates {
    std::vector<task_id> durable;   ///< were unsaved
    std::vector<task_id> obsolete;  ///< earlier ones, which clients with later updates hold
  };
  /// A checkpoint of the last model is durable: what can be said now.
  [[nodiscard]] saved_updates take_saved();

  struct held_updates {
    std::map<std::uint64_t, std::vector<task_id>> unsaved;  ///< by the version that they were added to
    std::vector<task_id> durable;
  };
  /// What became of ended tasks that a node lists; they may be made up. Those that are neither in a model nor earlier
  /// than an unsaved one are unused.
  /// @param listed ascending, none open, none aggregated in the current round
  [[nodiscard]] held_updates judge(const std::vector<task_id>& listed, std::uint64_t run,
                                   const participation_ledger& ledger);

 private:
  [[nodiscard]] bool is_before_unsaved(const task_id& task, std::uint64_t run, std::uint64_t newest) const;

  std::map<task_id, std::uint64_t> unsaved_;  ///< in which version's round they were added
  std::vector<task_id> unused_;
  std::map<rejection, std::vector<task_id>> rejected_;
  /// By client with later tasks in unsaved_: what its node held by its last report, the newest few.
  std::map<std::uint32_t, std::vector<task_id>> superseded_;
};

}  // namespace furlong::federated::protocol
