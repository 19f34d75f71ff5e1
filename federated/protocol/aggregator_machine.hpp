// The aggregator as a state machine: processes its share of a cohort, validates and aggregates updates, and sends
// partial aggregates to its parent.
//
// It never has more than `window` clients at work: memory stays O(model + window) however large the share.
// Of one task at most one update is folded; updates of other runs, versions or clients are refused.
//
// A synchronous share ends when all its tasks have an outcome, or when the server closes it; then the partial is sent.
// Open tasks remain known: their reports are late or over-selected (surplus). An asynchronous share ends only when the
// server closes it, and its open tasks continue in the next one; reports that arrive in between wait for it, since the
// rule's constants and the staleness are those of its version.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>
#include <variant>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment.hpp"
#include "federated/protocol/server_state.hpp"
#include "federated/update.hpp"
#include "federated/validation.hpp"

namespace furlong::federated::protocol {

/// Let this client work on this task.
struct start_client {
  task_id task;
  broadcast_ptr from;
};
/// Report these outcomes to the server.
struct report_settled {
  std::vector<settlement> settled;
};
/// The share is over: send this up, with the settlements that were not reported before.
struct send_partial {
  partial_aggregate partial;
  std::vector<settlement> settled;
};
/// These tasks are withdrawn: no update of them is or will be aggregated.
struct give_back {
  std::vector<task_id> tasks;
};
using aggregator_effect = std::variant<start_client, report_settled, send_partial, give_back>;
using aggregator_effects = std::vector<aggregator_effect>;

/// Whether the server hears of each settlement at once, or of all with the partial.
enum class notices : std::uint8_t { at_once, with_partial };
/// Whether a synchronous share is over when all its tasks have ended, or only when the server closes it: where tasks
/// may still join it.
enum class closing : std::uint8_t { by_itself, when_told };

class aggregator_machine {
 public:
  /// `e` must outlive the machine. window >= 1.
  aggregator_machine(const experiment& e, std::uint32_t number, std::size_t window, notices how,
                     closing when = closing::by_itself);

  /// A client's number of training examples if it differs from `e.participants`; nothing: unknown.
  using known_examples = std::function<std::optional<std::uint64_t>(std::uint32_t client)>;
  void set_known_examples(known_examples of) { examples_of_ = std::move(of); }

  /// Tasks on the model of `from`. With `begins` a new share of that version begins, and earlier aggregated updates are
  /// discarded (they were sent, or the server abandoned them); else the tasks join the current share. An empty
  /// synchronous share is answered at once.
  void on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins,
                     aggregator_effects& out);
  /// The server closes the share of `version`; `enough`: because it has all the reports that it needs.
  void on_close(std::uint64_t version, bool enough, aggregator_effects& out);
  /// A client's report. A report that was not requested changes nothing and is rejected.
  std::optional<rejection> on_update(const client_update& update, aggregator_effects& out,
                                     std::optional<std::uint64_t> bytes = std::nullopt);
  /// A report of `bytes` for a task of a closed share arrived; its content is ignored.
  void on_unwanted(const task_id& task, std::uint64_t bytes, aggregator_effects& out);
  /// A client failed.
  void on_failure(const task_id& task, aggregator_effects& out);
  /// A client dropped out.
  void on_drop(const task_id& task, drop_stage stage, aggregator_effects& out);
  /// The server withdraws these tasks: those without an outcome are forgotten.
  void on_withdraw(const std::vector<task_id>& tasks, aggregator_effects& out);
  /// Restores an open task of a resumed run, with the limits of its version.
  void restore(const open_task& task, const update_limits& limits);

 private:
  struct known_task {
    task_id id;
    bool settled = false;
    bool closed = false;   // of a share that is over
    bool surplus = false;  // which had enough reports
    update_limits limits = {};
  };
  [[nodiscard]] bool is_async() const { return e_.settings.participation.mode == participation_mode::async; }
  [[nodiscard]] known_task* find(const task_id& id, rejection& why);
  std::optional<rejection> try_fold(const client_update& update, const update_limits& limits, update_size& size);
  void settle(known_task& task, settlement what, aggregator_effects& out);
  void forget_settled();
  void go_on(aggregator_effects& out);
  void start_more(aggregator_effects& out);
  void send_up(aggregator_effects& out);

  const experiment& e_;
  std::uint32_t number_;
  std::size_t window_;
  notices how_;
  closing when_;
  known_examples examples_of_;
  double longest_;                                       ///< longest_update()
  broadcast_ptr from_;                                   ///< of the current share
  std::unordered_map<std::uint32_t, known_task> tasks_;  ///< by client: open ones, and those settled in this share
  std::vector<std::uint32_t> settled_here_;              ///< clients of the latter
  std::vector<start_client> waiting_;                    ///< not started yet
  std::size_t next_ = 0;                                 ///< first of them that is not
  std::size_t open_ = 0;                                 ///< started in this share and not settled
  std::size_t open_before_ = 0;                          ///< open tasks of synchronous shares that are over
  bool sent_ = true;                                     ///< there is no current share
  std::unique_ptr<accumulator> sum_;
  partial_aggregate partial_;
  std::vector<settlement> settled_;
  /// Asynchronous: updates that arrived between shares, for the next one; at most one per open task.
  std::vector<client_update> early_;
};

}  // namespace furlong::federated::protocol
