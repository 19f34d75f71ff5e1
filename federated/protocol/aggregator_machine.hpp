// The aggregator as a state machine: processes its share of a cohort, validates and aggregates updates, and sends
// partial aggregates to its parent.
//
// Of one task at most one update is folded; updates of other runs, versions or clients are refused.
//
// The updates may be added up elsewhere (adding::elsewhere). Then the machine gets a report of each, says which counts
// in which version (add_update), and its partial aggregates have no words, weight and loss: their parent adds these.
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
#include "federated/experiment/experiment.hpp"
#include "federated/experiment/update.hpp"
#include "federated/experiment/validation.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated::protocol {

/// Tell whoever has the update of this task to add it to the sum of `version`. Comes before its settlement.
struct add_update {
  task_id task;
  std::uint64_t version = 0;
  double freshness = 1.0;  ///< accumulator::fold()
};
/// Messages to the parent, and add_update. The partial aggregate is sent when the share is over, after its tasks'
/// settlements.
using aggregator_effect = std::variant<settled, partial_aggregate, withdrawn, add_update>;
using aggregator_effects = std::vector<aggregator_effect>;

/// Where updates are added up: in the machine, which gets them, or elsewhere: it gets only reports of them.
enum class adding : std::uint8_t { here, elsewhere };

/// Whether a synchronous share is over when all its tasks have ended, or only when the server closes it: where tasks
/// may still join it.
enum class closing : std::uint8_t { by_itself, when_told };

class aggregator_machine {
 public:
  /// `e` must outlive the machine.
  aggregator_machine(const experiment& e, std::uint32_t number, closing when = closing::by_itself,
                     adding where = adding::here);

  /// A client's number of training examples if it differs from `e.participants`; nothing: unknown.
  using known_examples = std::function<std::optional<std::uint64_t>(std::uint32_t client)>;
  void set_known_examples(known_examples of) { examples_of_ = std::move(of); }

  /// Tasks on the model of `from`. With `begins` a new share begins on that version and what was folded before is gone
  /// (it went up, or the server gave it up); else the tasks join the share under way. The caller starts their clients,
  /// after the effects. A synchronous share of nobody is answered at once.
  void on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins,
                     aggregator_effects& out);
  /// The server closes the share of `version`; `enough`: because it has all the reports that it needs.
  void on_close(std::uint64_t version, bool enough, aggregator_effects& out);
  /// A client's report. A report that was not requested changes nothing and is rejected.
  std::optional<rejection> on_update(const client_update& update, aggregator_effects& out,
                                     std::optional<std::uint64_t> bytes = std::nullopt);
  /// The same where updates are added up elsewhere: what assess_update() says of it.
  std::optional<rejection> on_report(const settlement& report, aggregator_effects& out);
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
  void begin_sum(const broadcast& start);
  [[nodiscard]] bool is_async() const;
  [[nodiscard]] known_task* find(const task_id& id, rejection& why);
  [[nodiscard]] bool is_too_stale(const task_id& id) const;
  [[nodiscard]] double freshness_of(const task_id& id) const;
  std::optional<rejection> try_fold(const client_update& update, const update_limits& limits, settlement& made);
  void settle(known_task& task, settlement what, aggregator_effects& out);
  void forget_settled();
  void send_up_when_settled(aggregator_effects& out);
  void send_up(aggregator_effects& out);

  const experiment& e_;
  std::uint32_t number_;
  closing when_;
  adding where_;
  known_examples examples_of_;
  double longest_;                                       ///< longest_update() of the round
  broadcast_ptr from_;                                   ///< of the current share
  std::unordered_map<std::uint32_t, known_task> tasks_;  ///< by client: open ones, and those settled in this share
  std::vector<std::uint32_t> settled_here_;              ///< clients of the latter
  std::size_t open_ = 0;                                 ///< assigned in this share and not settled
  std::size_t open_before_ = 0;                          ///< open tasks of synchronous shares that are over
  bool sent_ = true;                                     ///< there is no current share
  std::unique_ptr<accumulator> sum_;
  partial_aggregate partial_;
  /// Asynchronous: arrived after a share was over, for the next one. As many as arrive while the server closes a
  /// version, at most one for each open task.
  std::vector<client_update> early_;
  std::vector<settlement> early_reports_;
};

}  // namespace furlong::federated::protocol
