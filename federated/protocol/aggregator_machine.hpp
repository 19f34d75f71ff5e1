// The aggregator as a state machine: runs its share of a cohort, trusts no update, folds what passes, and sends partial
// aggregates up.
//
// It never has more than `window` clients at work: memory stays O(model + window) however large the share.
// Of one task at most one update is folded; updates of other runs, versions or clients are refused.
//
// A synchronous share is over when the end of all its tasks is known, or when the server closes it; then the partial
// goes up. Tasks that are open still stay known: what arrives of them later is late, or surplus. An asynchronous share
// is only over when the server closes it, and its open tasks go on into the next one; what arrives of them in between
// waits for that one to begin, since the rule's constants and the staleness are those of its version.
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
/// Tell the server how these tasks ended.
struct report_settled {
  std::vector<settlement> settled;
};
/// The share is over: send this up, with the settlements that were not reported before.
struct send_partial {
  partial_aggregate partial;
  std::vector<settlement> settled;
};
/// These tasks were given back: nothing of them is folded, and nothing will be.
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

  /// How many examples for training a client has, where that is not what `e.participants` says; nothing: unknown.
  using known_examples = std::function<std::optional<std::uint64_t>(std::uint32_t client)>;
  void know_examples(known_examples of) { examples_of_ = std::move(of); }

  /// Tasks on the model of `from`. With `begins` a new share begins on that version and what was folded before is gone
  /// (it went up, or the server gave it up); else the tasks join the share under way. A synchronous share of nobody is
  /// answered at once.
  void on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins,
                     aggregator_effects& out);
  /// The server wants the share of `version` closed; `enough`: because it has all the reports that it needs.
  void on_close(std::uint64_t version, bool enough, aggregator_effects& out);
  /// A client's report. A report that nobody asked for changes nothing and is returned as refused.
  std::optional<rejection> on_update(const client_update& update, aggregator_effects& out,
                                     std::optional<std::uint64_t> bytes = std::nullopt);
  /// A report arrived of a task whose share is over; `bytes` long, and nobody looks at what it says.
  void on_unwanted(const task_id& task, std::uint64_t bytes, aggregator_effects& out);
  /// A client could not do its work.
  void on_failure(const task_id& task, aggregator_effects& out);
  /// A client dropped out.
  void on_drop(const task_id& task, drop_stage stage, aggregator_effects& out);
  /// The server wants these tasks back: those that have not ended are forgotten.
  void on_withdraw(const std::vector<task_id>& tasks, aggregator_effects& out);
  /// A task that was given out before the run was resumed, and is open still; with the limits of its version.
  void restore(const open_task& task, const update_limits& limits);

 private:
  struct known_task {
    task_id id;
    bool settled = false;
    bool closed = false;   // of a share that is over
    bool surplus = false;  // which had enough reports
    update_limits limits = {};
  };
  [[nodiscard]] bool is_async() const;
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
  broadcast_ptr from_;                                   ///< of the share under way
  std::unordered_map<std::uint32_t, known_task> tasks_;  ///< by client: open ones, and those settled in this share
  std::vector<std::uint32_t> settled_here_;              ///< clients of the latter
  std::vector<start_client> waiting_;                    ///< not started yet
  std::size_t next_ = 0;                                 ///< first of them that is not
  std::size_t open_ = 0;                                 ///< started in this share and not settled
  std::size_t open_before_ = 0;                          ///< open tasks of synchronous shares that are over
  bool sent_ = true;                                     ///< nothing is under way
  std::unique_ptr<accumulator> sum_;
  partial_aggregate partial_;
  std::vector<settlement> settled_;
  /// Asynchronous: arrived after a share was over, for the next one. As many as arrive while the server closes a
  /// version, at most one for each open task.
  std::vector<client_update> early_;
};

}  // namespace furlong::federated::protocol
