// The server as a state machine: events in, effects out, no I/O, no clock, no threads. Every event comes with the time
// at which it happens.
//
// A synchronous round:
//   1. The server chooses a cohort among those it can reach; when too few are there it looks again later  -> set_timer
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
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/protocol/branch_messages.hpp"
#include "federated/protocol/eligible_clients.hpp"
#include "federated/protocol/roster.hpp"
#include "federated/round.hpp"
#include "federated/run_observer.hpp"

namespace furlong::federated {
class checked_policy;
}
namespace furlong::federated::privacy {
class mask_removal;
class secure_server;
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
  void check_keys_with(privacy::key_check check) { key_check_ = std::move(check); }
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
  void explain_drop(const task_id& task, drop_cause cause) { causes_[task] = cause; }
  /// Stops after the current round.
  void stop() { stopping_ = true; }
  /// True if a synchronous round has selected nobody yet, and waits for clients.
  [[nodiscard]] bool waits_for_clients() const { return waiting_since_start_; }
  /// The same if clients are routed, at any time: a round without open tasks does not wait for clients.
  [[nodiscard]] server_effects on_stop(virtual_time now);
  /// Makes a checkpoint after the current round.
  void want_checkpoint() { checkpoint_wanted_ = true; }
  /// An event to record with the round's other events.
  void on_event(run_event what) { events_.push_back(std::move(what)); }
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
  void remember_rounds() { remembers_ = true; }
  /// snapshot() as it was when the round under way began. Only after remember_rounds(), or if it waits_for_clients(),
  /// and if clients are not routed.
  [[nodiscard]] server_state before_round() const;
  /// True if before_round() can be called.
  [[nodiscard]] bool knows_before_round() const { return remembers_ || waiting_since_start_; }
  /// Number of tasks without an outcome.
  [[nodiscard]] std::size_t in_flight() const { return open_.size(); }
  /// Those tasks, by client.
  [[nodiscard]] std::vector<open_task> open_tasks() const;
  /// Number of aggregators whose partial of the version under way is missing.
  [[nodiscard]] std::size_t partials_missing() const { return pending_; }
  /// Number of updates aggregated in this round, in no model yet.
  [[nodiscard]] std::size_t folding() const { return folded_.size(); }

 private:
  [[nodiscard]] const participation_settings& how() const { return *e_.settings.participation; }
  [[nodiscard]] bool is_async() const;
  [[nodiscard]] bool is_over() const;

  /// A round without clients is abandoned after this time.
  static constexpr virtual_time longest_wait = 7 * 86400 * microseconds_per_second;

  /// A version's model, and how many open tasks need it.
  struct published_model {
    broadcast_ptr from;
    std::size_t open = 0;
    std::optional<digest> inputs = {};  ///< digest_of(*from), under secure aggregation
  };

  void complete(server_state& copy) const;
  void publish_model();
  void open(const open_task& task);
  [[nodiscard]] bool needs_model(const open_task& task) const;
  void release_model(std::uint64_t version);
  void select_clients(server_effects& out);
  void draw_cohort(server_effects& out);
  void assign_cohort(const std::vector<std::uint32_t>& chosen, std::size_t goal, server_effects& out);
  [[nodiscard]] bool prolong_round(server_effects& out);
  [[nodiscard]] bool refill(server_effects& out);
  [[nodiscard]] virtual_time first_short_window(virtual_time next);
  void retry_selection(server_effects& out, virtual_time at_latest);
  [[nodiscard]] result<std::vector<std::uint32_t>> choose(std::size_t count);
  [[nodiscard]] bool is_eligible(std::uint32_t client);
  [[nodiscard]] std::uint64_t first_version(const client_record& record) const;
  [[nodiscard]] virtual_time paced_until(std::uint32_t client) const;
  [[nodiscard]] client_standing standing_of(std::uint32_t client) const;
  [[nodiscard]] bool choose_all(std::size_t count, std::vector<std::uint32_t>& chosen);
  void index_clients(const std::vector<std::uint32_t>& chosen, std::size_t count);
  void remember_round();
  void note_probe(std::uint32_t client, bool there);
  [[nodiscard]] std::vector<task_id> create_tasks(const std::vector<std::uint32_t>& clients);
  void assign_tasks(const std::vector<task_id>& tasks, bool begins, server_effects& out);
  void assign_by_route(const std::vector<task_id>& tasks, server_effects& out);
  [[nodiscard]] bool begin_share(std::uint32_t aggregator);
  void begin_round_by_route(server_effects& out);
  void close_shares(bool enough, server_effects& out);
  void settle(std::uint32_t aggregator, const settlement& one);
  void after_settling(server_effects& out);
  void send_declines(server_effects& out);
  void send_held_verdicts(const std::set<task_id>& holding, server_effects& out);
  [[nodiscard]] bool is_closing(std::uint32_t aggregator) const;
  [[nodiscard]] bool lost_with_its_node(const task_id& id) const;
  void assign_open_task(open_task& task, server_effects& out);
  void assign_waiting_tasks(server_effects& out);
  void orphan(open_task& task);
  void settle_here(const task_id& id, outcome what, drop_stage stage);
  void remove_updates(std::uint32_t aggregator, const std::set<task_id>& gone);
  void reassign(const std::vector<task_id>& tasks, server_effects& out);
  void schedule_orphan_timeout(server_effects& out);
  void drop_expired_orphans(server_effects& out);
  [[nodiscard]] bool records_spans() const;
  void record_span(const open_task& task, outcome what, std::optional<virtual_time> ended_at);
  void record_settlement(const settlement& one);
  [[nodiscard]] std::string cause_of(const task_id& task);

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
  [[nodiscard]] bool is_excluded(const task_id& id) const;
  void leave_secure_round(const task_id& id);
  void drop_excluded(server_effects& out);

  const experiment& e_;
  server_state state_;
  roster* roster_;
  server_optimizer optimizer_;
  std::unique_ptr<checked_policy> policy_;
  std::unique_ptr<accumulator> sum_;
  broadcast_ptr current_;
  std::uint64_t task_bytes_ = 0;                                   // encoded size of a task and `current_`
  std::unordered_map<std::uint32_t, open_task> open_;              ///< by client
  std::unordered_map<std::uint64_t, published_model> broadcasts_;  ///< of the versions that open tasks need
  std::vector<std::uint64_t> unused_;                    ///< of these, versions that may have no open task left
  std::vector<std::vector<std::uint32_t>> assigned_;     ///< clients of each aggregator in this round; synchronous
  std::vector<std::vector<settlement>> reported_folds_;  ///< by aggregator: updates it said it folded in its share
  std::vector<settlement> merged_;                       ///< of this round, in partials that were merged
  std::vector<settlement> rejected_;                     ///< of this round
  std::vector<bool> begun_;                              ///< by aggregator: it has, or had, a share of this round
  std::vector<bool> close_requested_;                    ///< by aggregator: of its share
  std::vector<bool> answered_;
  std::size_t pending_ = 0;        ///< aggregators that have not answered
  std::vector<task_id> folded_;    ///< in this round, not yet in a model
  std::size_t open_in_round_ = 0;  ///< synchronous: tasks of this round without an end
  std::size_t goal_ = 0;           ///< folded updates that close the round
  bool shares_open_ = false;       ///< the round's shares are under way
  bool closing_ = false;
  bool all_ended_ = false;  ///< it is closing since all tasks have ended, and goes on if some of these ends are lost
  std::unique_ptr<privacy::secure_server> secure_;  ///< of this round, under secure aggregation
  privacy::secure_letters letters_;                 ///< of it, to be sent
  privacy::secure_letters waiting_;                 ///< keys of clients with an update, asynchronous, by arrival
  std::vector<task_id> excluded_;  ///< open tasks whose clients did not answer in time, or violated its protocol
  bool unmasking_ = false;         ///< the round is closed, and its sum is still masked
  privacy::key_check key_check_;
  bool opened_ = false;                      ///< its sum is no longer masked
  bool prolonged_ = false;                   ///< nobody reported, and the round ends when participation.retry is over
  std::uint32_t selections_ = 0;             ///< for clients, in this round
  std::uint64_t probes_ = 0;                 ///< clients looked at in this round, as often as they were
  client_bits probed_;                       ///< in this round: looked at
  client_bits reached_;                      ///< and could be asked at one of the looks
  bool paced_ = false;                       ///< clients of the last selection are ineligible by pace steering only
  std::unique_ptr<eligible_clients> index_;  ///< asynchronous, once too few clients were eligible
  std::uint64_t foresight_ = 0;              ///< that the index relies on
  std::uint64_t indexed_version_ = 0;        ///< in which it was used last
  struct outlook {
    virtual_time until = 0;  ///< before this instant nothing changes
    bool there = false;      ///< reachable
  };
  std::vector<outlook> outlooks_;     ///< of the training clients, in their order, once a selection has waited
  std::uint64_t outlooks_stand_ = 0;  ///< foresight that they rely on
  std::uint64_t outlooks_version_ = 0;
  bool waiting_since_start_ = false;
  virtual_time round_began_ = 0;
  const std::uint64_t began_;  ///< version that this machine started or resumed from
  // Where clients are routed:
  const bool routed_;
  struct orphaned_task {
    virtual_time since = 0;
    drop_stage stage = drop_stage::train;  ///< in which it drops out if its client does not come back
  };
  std::map<std::uint32_t, orphaned_task> orphaned_;  ///< by client: its open task is with nobody
  std::set<task_id> withdrawing_;                    ///< asked back, and not given back yet
  /// By client: the process of the node (roster::instance) that was given its open or folded task last, or holds it.
  /// None: nobody has it.
  std::unordered_map<std::uint32_t, std::uint64_t> assignee_;
  std::set<std::uint32_t> assigned_next_;  ///< of the adrift: clients that are reached, and wait for a share to begin
  std::map<task_id, std::uint64_t> in_model_;  ///< folded, and in no durable checkpoint yet: in which version's round
  std::vector<task_id> over_;                  ///< ended, and their clients do not know
  std::map<rejection, std::vector<task_id>> refused_;  ///< rejected, the same
  /// By client with later tasks in in_model_: tasks that its node held by its last report, the newest few. Obsolete
  /// when the later update is durable.
  std::map<std::uint32_t, std::vector<task_id>> superseded_;
  accounting reported_;                  ///< counts as of the last closed round
  std::vector<open_task> ended_since_;   ///< since then, and not folded
  virtual_time next_selection_ = never;  ///< the timer that counts; others are void
  bool orphan_timer_set_ = false;        ///< a timer is running
  round_report report_;
  std::vector<run_event> events_;         ///< of this round
  std::map<task_id, drop_cause> causes_;  ///< of tasks that are about to be settled as dropped
  bool stopping_ = false;
  bool checkpoint_wanted_ = false;
  bool reviewing_ = false;  ///< the run is over, and its best model is evaluated
  /// What a round changes, as it was before the round; the ledger remembers its own.
  struct round_start {
    virtual_time now = 0;
    accounting counts;
    std::vector<open_task> open;
  };
  bool remembers_ = false;
  round_start before_;
};

}  // namespace furlong::federated::protocol
