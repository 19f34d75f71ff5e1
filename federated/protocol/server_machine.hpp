// The server as a state machine: events in, effects out, no I/O, no clock, no threads. Every event comes with the time
// at which it happens.
//
// A synchronous round:
//   1. The server chooses a cohort among those it can reach; when too few are there it looks again later      -> timer
//   2. It assigns the cohort to its aggregators and broadcasts the model                        -> assign (one each)
//   3. Aggregators report outcomes of tasks                                                              <- on_settled
//   4. When there are reports enough, or at the deadline, the shares are closed                      -> close_share
//   5. Aggregators answer with partial aggregates, by themselves when all their tasks have ended      <- on_partial
//   6. The partials are merged into a new version; with too few reports the round is abandoned instead:
//      the version advances, the model stays as it was                              -> acknowledge, round_closed
//      If the algorithm's step fails there is no new version                                         -> failed
//      The same at 1 if the policy's choice is none that it may make
//   7. Where due: evaluation                                                           -> evaluate <- on_evaluated
//   8. Where due, and before stopping: checkpoint                                  -> checkpoint <- on_checkpointed
//   9. Back to 1, or                                                            -> proceed <- on_proceed, or finish
// Tasks that are open at 4 stay open: their reports are late or over-selected (surplus).
//
// An asynchronous run (FedBuff; Nguyen et al. 2022) keeps `concurrency` tasks open: when one ends another is created,
// on the newest model. Every `buffer` aggregated updates make a version (steps 4 to 9, without a deadline).
//
// Where clients are reached through certain aggregators, which come and go (a roster that routes):
//   - A client's tasks go to the aggregator that it is reached through; aggregators tell of each end at once, and send
//     partials only when their share is closed.
//   - Clients join with the tasks that they hold. A task that is open elsewhere is withdrawn there first  -> withdraw,
//     and given out again where its client is now, so that no update is folded twice          <- on_withdrawn
//   - What an aggregator folded is lost with it: those tasks are open again, and wait for their clients, for
//     network.timeout at least                             <- on_aggregator_lost, on_tasks_lost, -> timer
//   - A task that was given to a node's process is lost with that process, unless its successor holds it. It is not
//     lost with an aggregator: it is given to the same process again
//   - A synchronous round that waits for every task, without a deadline and without over-selection, does not depend on
//     aggregators: clients whose aggregator was lost are chosen and waited for like all others as long as the roster
//     expects them, and when a share is lost while all are being closed the round goes on without it, until its tasks
//     have ended again in others. A share counts once, when its partial is merged: an aggregator can have another one
//     of the same round after it
//   - Updates are acknowledged once a checkpoint holds them                           -> acknowledge, decline
//     Who is not reached then is told when it joins again, with what it holds: a server that has finished should go on
//     listening until the nodes had the time to come back.
//
// A partial of another run, version or aggregator, a second one, or one with clients that its aggregator was not
// assigned, is an error and leaves the machine unchanged.
//
// What the machine knows is in objects, each with invariants of its own, which return facts and know nothing of each
// other, but that the selector looks at the open tasks. Only the machine makes effects:
//   model_shelf      the models that tasks start from      verdict_book     verdicts that clients have not received
//   task_book        open tasks and their processes        client_selector  the policy's choice among eligible clients
//   share_book       what aggregators did for the round    cohort           when the server looks for clients
//   secure_round     the round's masked sum                short_windows    clients that are reached for a short time
//   round_record     the report and events of the round    round_memory     the state as it was at earlier moments
#pragma once

#include <memory>
#include <set>
#include <variant>
#include <vector>

#include "federated/experiment/experiment.hpp"
#include "federated/protocol/branch_messages.hpp"
#include "federated/protocol/client_selector.hpp"
#include "federated/protocol/cohort.hpp"
#include "federated/protocol/model_shelf.hpp"
#include "federated/protocol/roster.hpp"
#include "federated/protocol/round_memory.hpp"
#include "federated/protocol/round_record.hpp"
#include "federated/protocol/secure_round.hpp"
#include "federated/protocol/share_book.hpp"
#include "federated/protocol/short_windows.hpp"
#include "federated/protocol/task_book.hpp"
#include "federated/protocol/verdict_book.hpp"
#include "federated/rounds/round.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::federated::privacy {
class mask_removal;
}  // namespace furlong::federated::privacy

namespace furlong::federated::protocol {

/// Tell that aggregator to close its share of `version`; `enough`: since the round has all the reports that it needs.
struct close_share {
  std::uint32_t aggregator = 0;
  std::uint64_t version = 0;
  bool enough = false;
};
/// Withdraw these tasks from that aggregator: call on_withdrawn() with those that it had not settled.
struct withdraw {
  std::uint32_t aggregator = 0;
  std::vector<task_id> tasks;
};
enum class timer_kind : std::uint8_t { retry_selection, deadline, orphaned, unmasking, exchange };
/// Call on_timer() with it at that time.
struct timer {
  timer_kind what = timer_kind::retry_selection;
  std::uint64_t version = 0;
  virtual_time at = 0;
};
/// The updates of these tasks are in the model of the version after `version`; if clients are routed, in a durable
/// checkpoint.
struct acknowledge {
  std::uint64_t version = 0;
  std::vector<task_id> tasks;
};
/// The updates of these tasks are in the model of the version after `version`, and in no durable checkpoint yet. Only
/// if clients are routed and keep private values after an acknowledgement (private.commit = "after-ack").
struct taken {
  std::uint64_t version = 0;
  std::vector<task_id> tasks;
};
/// The updates of these tasks will be in no model. Only if clients are routed. `why`: the reason of a rejection.
struct decline {
  std::vector<task_id> tasks;
  std::optional<rejection> why = std::nullopt;
};
/// Send letters of secure aggregation to clients that are reached through that aggregator.
struct send_letters {
  std::uint32_t aggregator = 0;
  letters content;
};
/// Remove what hides `sum`, on any thread, and call on_masks_removed().
struct remove_masks {
  std::uint64_t version = 0;
  std::shared_ptr<const privacy::mask_removal> masks;
  std::vector<std::int64_t> sum;
};
/// An event to record.
struct note {
  run_event event;
};
/// A round ended: report it.
struct round_closed {
  round_report report;
};
/// The version could not be made, since the algorithm's step or the policy's choice failed: end the run, which may be
/// resumed. Nothing follows.
struct failed {
  error why;
};
/// Evaluate under_test(), then call on_evaluated().
struct evaluate {};
/// Make private values and state() durable, then call on_checkpointed().
struct checkpoint {};
/// Call on_proceed(): the next round can begin.
struct proceed {};
/// The run is over.
struct finish {
  bool interrupted = false;
};
using server_effect = std::variant<assign, close_share, withdraw, timer, acknowledge, taken, decline, send_letters,
                                   remove_masks, note, round_closed, failed, evaluate, checkpoint, proceed, finish>;
using server_effects = std::vector<server_effect>;

class server_machine {
 public:
  /// Starts or resumes from a state. `e` and `who` must outlive the machine; without `who` all clients are reachable.
  server_machine(const experiment& e, server_state state, roster* who = nullptr);
  /// Checks clients' keys under secure aggregation from the next round on; without it they are not signed.
  void check_keys_with(privacy::key_check check) { secure_.check_keys_with(std::move(check)); }
  ~server_machine();

  [[nodiscard]] server_effects start();
  [[nodiscard]] server_effects on_settled(std::uint32_t aggregator, const std::vector<settlement>& settled,
                                          virtual_time now);
  [[nodiscard]] result<server_effects> on_partial(partial_aggregate partial, virtual_time now);
  [[nodiscard]] server_effects on_timer(const timer& which, virtual_time now);
  /// If clients are routed: clients first to last are connected through that aggregator and hold these tasks, in
  /// progress or done. The roster must know first.
  [[nodiscard]] server_effects on_attached(std::uint32_t aggregator, std::uint32_t first, std::uint32_t last,
                                           const std::vector<task_id>& holding, virtual_time now);
  /// An aggregator is lost, with all updates that it had aggregated and not sent.
  [[nodiscard]] server_effects on_aggregator_lost(std::uint32_t aggregator, virtual_time now);
  /// An aggregator returned these withdrawn tasks.
  [[nodiscard]] server_effects on_withdrawn(std::uint32_t aggregator, const std::vector<task_id>& tasks,
                                            virtual_time now);
  /// An aggregator lost these tasks, open or reported as aggregated in this round, with another one below it. Its other
  /// tasks stay, and its partial comes without these.
  [[nodiscard]] server_effects on_tasks_lost(std::uint32_t aggregator, const tasks_lost& lost, virtual_time now);
  /// Letters of clients, under secure aggregation.
  [[nodiscard]] server_effects on_letters(std::uint32_t aggregator, const letters& what, virtual_time now);
  /// `sum`: of the version's remove_masks, without masks.
  [[nodiscard]] server_effects on_masks_removed(std::uint64_t version, std::vector<std::int64_t> sum, virtual_time now);
  [[nodiscard]] server_effects on_evaluated(const evaluation_report& figures);
  /// The evaluation failed: the state is to be made durable, with the evaluation still to be made.
  [[nodiscard]] server_effects on_evaluation_failed();
  [[nodiscard]] server_effects on_checkpointed();
  /// `now`: evaluation and checkpoint took time.
  [[nodiscard]] server_effects on_proceed(virtual_time now = 0);
  /// Why a client drops out, before its task is settled.
  void explain_drop(const task_id& task, drop_cause cause) { record_.explain_drop(task, cause); }
  /// Stops after the current round.
  void stop() { stopping_ = true; }
  /// True if a synchronous round has selected nobody yet, and waits for clients.
  [[nodiscard]] bool waits_for_clients() const { return cohort_.awaits_first(); }
  /// The same if clients are routed, at any time: a round without open tasks does not wait for clients.
  [[nodiscard]] server_effects on_stop(virtual_time now);
  /// Makes a checkpoint after the current round.
  void want_checkpoint() { checkpoint_wanted_ = true; }
  /// An event to record with the round's other events.
  void on_event(run_event what) { record_.add_event(std::move(what)); }
  /// A client's private values were erased.
  void on_erased(std::uint32_t client) { state_.ledger->touch(client).trained_version = 0; }
  /// A client kept the private values that it trained from `version` at that time.
  void on_kept(std::uint32_t client, std::uint64_t version, virtual_time when);

  /// The current state without what snapshot() adds.
  [[nodiscard]] const server_state& state() const { return state_; }
  /// The model to evaluate: the last one; at the end of a run also the best one if another is best.
  [[nodiscard]] model_version under_test() const { return reviewing_ ? state_.chosen() : state_.last(); }
  /// True if a round ends exactly when all its tasks have: synchronous, without deadline and over-selection.
  [[nodiscard]] bool waits_for_every_task() const;
  /// The state as of the last closed round, between rounds. If clients are routed, tasks that ended since are open in
  /// it: no round has reported their outcomes.
  [[nodiscard]] server_state snapshot() const;
  /// From the next on, rounds can be taken back by before_round().
  void remember_rounds() { memory_.remember_rounds(); }
  /// snapshot() as it was when the round under way began. Only after remember_rounds(), or if it waits_for_clients(),
  /// and if clients are not routed.
  [[nodiscard]] server_state before_round() const;
  /// True if before_round() can be called.
  [[nodiscard]] bool knows_before_round() const { return memory_.remembers() || cohort_.awaits_first(); }
  /// Number of tasks without an outcome.
  [[nodiscard]] std::size_t in_flight() const { return tasks_.size(); }
  /// Those tasks, by client.
  [[nodiscard]] std::vector<open_task> open_tasks() const { return tasks_.by_client(); }
  /// Number of aggregators whose partial of the version under way is missing.
  [[nodiscard]] std::size_t partials_missing() const { return shares_.awaited(); }
  /// Number of updates aggregated in this round, in no model yet.
  [[nodiscard]] std::size_t folding() const { return shares_.aggregated().size(); }

 private:
  [[nodiscard]] const participation_settings& how() const { return *e_.settings.participation; }
  [[nodiscard]] bool is_async() const;
  [[nodiscard]] bool is_over() const;

  /// A round without clients is abandoned after this time.
  static constexpr virtual_time longest_wait = 7 * 86400 * microseconds_per_second;

  void complete(server_state& copy) const;
  void publish_model();
  open_task& open(const open_task& task);
  [[nodiscard]] bool needs_model(const open_task& task) const;
  void select_clients(server_effects& out);
  void draw_cohort(server_effects& out);
  void assign_cohort(const std::vector<std::uint32_t>& chosen, std::size_t goal, server_effects& out);
  [[nodiscard]] bool prolong_round(server_effects& out);
  [[nodiscard]] bool refill(server_effects& out);
  void retry_selection(server_effects& out, virtual_time at_latest);
  void remember_round();
  [[nodiscard]] std::vector<task_id> create_tasks(const std::vector<std::uint32_t>& clients);
  void assign_tasks(const std::vector<task_id>& tasks, bool begins, server_effects& out);
  void assign_by_route(const std::vector<task_id>& tasks, server_effects& out);
  void begin_shares(const std::vector<std::uint32_t>& aggregators, server_effects& out);
  void close_shares(bool enough, server_effects& out);
  void settle(std::uint32_t aggregator, const settlement& one);
  void after_settling(server_effects& out);
  void send_declines(server_effects& out);
  void send_held_verdicts(const std::set<task_id>& holding, server_effects& out);
  void assign_open_task(open_task& task, server_effects& out);
  void assign_waiting_tasks(server_effects& out);
  void settle_here(const task_id& id, outcome what, drop_stage stage);
  void remove_updates(std::uint32_t aggregator, const std::set<task_id>& gone);
  void reassign(const std::vector<task_id>& tasks, server_effects& out);
  void schedule_orphan_timeout(server_effects& out);
  void drop_expired_orphans(server_effects& out);

  [[nodiscard]] result<void> check(const partial_aggregate& partial) const;
  void close_version(server_effects& out);
  void finish_version(server_effects& out);
  void abandon_round(const std::string& why);
  [[nodiscard]] const update_limits& limits_of(const task_id& id) const;
  [[nodiscard]] round_facts take_facts();
  void add_base_difference(aggregate& round) const;
  [[nodiscard]] bool commits_after_ack() const;
  [[nodiscard]] server_effects after_evaluation();
  // Secure aggregation (server_secure.cpp):
  void begin_secure_round(const std::vector<task_id>& cohort, server_effects& out);
  void begin_secure_buffer(server_effects& out);
  [[nodiscard]] bool fills_buffer(const privacy::secure_letter& keys);
  [[nodiscard]] bool has_all_updates() const;
  void limit_exchange(server_effects& out);
  void end_exchange(server_effects& out);
  void begin_unmasking(server_effects& out);
  void send_letters_to_clients(server_effects& out);
  void request_shares_again(std::uint32_t first, std::uint32_t last, const std::set<task_id>& holding,
                            server_effects& out);
  void drop_excluded(server_effects& out);

  const experiment& e_;
  server_state state_;
  roster* roster_;
  const bool routed_;
  const std::uint64_t began_;  ///< version that this machine started or resumed from
  server_optimizer optimizer_;
  std::unique_ptr<accumulator> sum_;
  model_shelf shelf_;
  task_book tasks_;
  share_book shares_;
  secure_round secure_;
  verdict_book verdicts_;
  cohort cohort_;
  client_selector selector_;
  short_windows windows_;
  round_record record_;
  round_memory memory_;
  bool stopping_ = false;
  bool checkpoint_wanted_ = false;
  bool reviewing_ = false;  ///< the run is over, and its best model is evaluated
};

}  // namespace furlong::federated::protocol
