// The server as a state machine: events in, effects out, no I/O, no clock, no threads. Every event comes with the time
// at which it happens.
//
// A synchronous round:
//   1. The server chooses a cohort among those it can reach; when too few are there it looks again later  -> set_timer
//   2. It deals the cohort out to its aggregators and broadcasts the model                      -> assign (one each)
//   3. Aggregators tell how tasks ended                                                               <- on_settled
//   4. When there are reports enough, or at the deadline, the shares are closed                      -> close_share
//   5. Aggregators answer with partial aggregates, by themselves when all their tasks have ended      <- on_partial
//   6. The partials are merged into a new version; with too few reports the round is abandoned instead:
//      the version advances, the model stays as it was                              -> acknowledge, round_closed
//   7. Where due: evaluation                                                           -> evaluate <- on_evaluated
//   8. Where due, and before stopping: checkpoint                                  -> checkpoint <- on_checkpointed
//   9. Back to 1, or                                                            -> proceed <- on_proceed, or finish
// Tasks that are open at 4 stay open: whatever they report is late, or surplus.
//
// An asynchronous run (FedBuff; Nguyen et al. 2022) keeps `concurrency` tasks open: whenever one ends another is given
// out, from the newest model. Every `buffer` folded updates make a version (steps 4 to 9, without a deadline).
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
// A partial of another run, version or aggregator, one that comes twice, or one that lists clients that its aggregator
// was not given, is an error and leaves the machine unchanged.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <unordered_map>
#include <variant>
#include <vector>

#include "federated/experiment.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/round.hpp"
#include "federated/run_observer.hpp"

namespace furlong::federated {
class selection_policy;
}

namespace furlong::federated::protocol {

/// Give these tasks to that aggregator. `begins`: a new share; what the aggregator folded before is done with.
struct assign {
  std::uint32_t aggregator = 0;
  broadcast_ptr from;
  std::vector<task_id> tasks;
  bool begins = true;
};
/// Tell that aggregator to close its share of `version`; `enough`: since the round has all the reports that it needs.
struct close_share {
  std::uint32_t aggregator = 0;
  std::uint64_t version = 0;
  bool enough = false;
};
/// Have that aggregator give these tasks back: call on_withdrawn() with those that it had not settled.
struct withdraw {
  std::uint32_t aggregator = 0;
  std::vector<task_id> tasks;
};
enum class timer_kind : std::uint8_t { look_again, deadline, adrift };
/// Call on_timer() with it at that time.
struct timer {
  timer_kind what = timer_kind::look_again;
  std::uint64_t version = 0;
  virtual_time at = 0;
};
/// The updates of these tasks are in the model of the version after `version`; where clients are routed: in a durable
/// checkpoint.
struct acknowledge {
  std::uint64_t version = 0;
  std::vector<task_id> tasks;
};
/// The updates of these tasks are in the model of the version after `version`, and in no durable checkpoint yet. Only
/// where clients are routed, and keep private values once they know (private.commit = "after-ack").
struct taken {
  std::uint64_t version = 0;
  std::vector<task_id> tasks;
};
/// The updates of these tasks never will be in a model. Only where clients are routed. `why`: they were rejected.
struct decline {
  std::vector<task_id> tasks;
  std::optional<rejection> why = std::nullopt;
};
/// Something to write down.
struct note {
  run_event event;
};
/// A round ended; tell whoever listens.
struct round_closed {
  round_report report;
};
/// Evaluate under_test(), then call on_evaluated().
struct evaluate {};
/// Make private values and state() durable, then call on_checkpointed().
struct checkpoint {};
/// Call on_proceed(): the next round can begin.
struct proceed {};
/// Nothing more to do.
struct finish {
  bool interrupted = false;
};
using server_effect = std::variant<assign, close_share, withdraw, timer, acknowledge, taken, decline, note,
                                   round_closed, evaluate, checkpoint, proceed, finish>;
using server_effects = std::vector<server_effect>;

/// Whom the server can reach.
class roster {
 public:
  virtual ~roster() = default;
  /// A round begins: the round that makes version `version` + 1.
  virtual void on_round(std::uint64_t version, virtual_time now) = 0;
  /// Whether a client that is not at work can be asked now.
  [[nodiscard]] virtual bool reachable(std::uint32_t client, virtual_time now, std::uint64_t version) = 0;
  /// Whether others may be reachable later in the same round.
  [[nodiscard]] virtual bool waiting_helps() const = 0;

  /// Whether clients are reached through certain aggregators. If not, any of `settings.topology->aggregators` will do.
  [[nodiscard]] virtual bool routes() const { return false; }
  /// The aggregator through which a client is reached now.
  [[nodiscard]] virtual std::optional<std::uint32_t> route(std::uint32_t client) const {
    static_cast<void>(client);
    return std::nullopt;
  }
  /// Until when a client that is not reached is expected to come back, as far as is known; in the past: it is not.
  [[nodiscard]] virtual virtual_time expected_until(std::uint32_t client) const {
    static_cast<void>(client);
    return 0;
  }
  /// Names the process that hosts a client, where it is reached: another one has lost what this one was given. Never 0.
  [[nodiscard]] virtual std::uint64_t instance(std::uint32_t client) const {
    static_cast<void>(client);
    return 0;
  }
  /// Those that are there now, ascending. A number is never used again.
  [[nodiscard]] virtual std::vector<std::uint32_t> aggregators() const { return {}; }
};

class server_machine {
 public:
  /// Starts, or goes on, from a state. `e` and `who` must outlive the machine; without `who` everybody can be reached.
  server_machine(const experiment& e, server_state state, roster* who = nullptr);
  ~server_machine();

  [[nodiscard]] server_effects start();
  [[nodiscard]] server_effects on_settled(std::uint32_t aggregator, const std::vector<settlement>& settled,
                                          virtual_time now);
  [[nodiscard]] result<server_effects> on_partial(partial_aggregate partial, virtual_time now);
  [[nodiscard]] server_effects on_timer(const timer& which, virtual_time now);
  /// Where clients are routed. The roster knows of it before it is told here: clients first to last are reached through
  /// that aggregator, and hold these tasks, at work or done.
  [[nodiscard]] server_effects on_attached(std::uint32_t aggregator, std::uint32_t first, std::uint32_t last,
                                           const std::vector<task_id>& holding, virtual_time now);
  /// An aggregator is gone, with all that it had folded and not sent.
  [[nodiscard]] server_effects on_aggregator_lost(std::uint32_t aggregator, virtual_time now);
  /// An aggregator gave these tasks back.
  [[nodiscard]] server_effects on_withdrawn(std::uint32_t aggregator, const std::vector<task_id>& tasks,
                                            virtual_time now);
  /// An aggregator lost these, which it had told folded in this round or has open, with another one below it. What else
  /// it has stays, and its partial comes without them.
  [[nodiscard]] server_effects on_tasks_lost(std::uint32_t aggregator, const tasks_lost& lost, virtual_time now);
  [[nodiscard]] server_effects on_evaluated(const evaluation_report& figures);
  [[nodiscard]] server_effects on_checkpointed();
  /// `now`: evaluating and writing the checkpoint took time.
  [[nodiscard]] server_effects on_proceed(virtual_time now = 0);
  /// Asks to stop after the round under way.
  void stop() { stopping_ = true; }
  /// The same where clients are routed, at any time: a round that has nobody at work does not wait for more to come.
  [[nodiscard]] server_effects on_stop(virtual_time now);
  /// Asks for a checkpoint after the round under way.
  void want_checkpoint() { checkpoint_wanted_ = true; }
  /// Something happened that is to be written down with the round's other events.
  void on_event(run_event what) { events_.push_back(std::move(what)); }
  /// A client's private values were erased.
  void on_erased(std::uint32_t client) { state_.ledger->touch(client).trained_version = 0; }
  /// A client kept the private values that it trained from `version` at that time.
  void on_kept(std::uint32_t client, std::uint64_t version, virtual_time when);

  /// The state of now; what other members know is copied in by snapshot().
  [[nodiscard]] const server_state& state() const { return state_; }
  /// What is to be evaluated: the last model; at the end of a run, once more the best one where another is that.
  [[nodiscard]] model_version under_test() const { return reviewing_ ? state_.chosen() : state_.last(); }
  /// Whether a round ends with all of its tasks and not before: synchronous, without deadline and over-selection.
  [[nodiscard]] bool waits_for_every_task() const;
  /// As of the last closed round, between rounds. Where clients are routed tasks may have ended since: they are open in
  /// it, for no round has reported their ends.
  [[nodiscard]] server_state snapshot() const;
  /// Tasks of which nothing is known yet.
  [[nodiscard]] std::size_t in_flight() const { return open_.size(); }
  /// Those tasks, by client.
  [[nodiscard]] std::vector<open_task> open_tasks() const;
  /// Tasks whose updates were folded in this round: in no model yet.
  [[nodiscard]] std::size_t folding() const { return folded_.size(); }

 private:
  [[nodiscard]] const participation_settings& how() const { return *e_.settings.participation; }
  [[nodiscard]] bool is_async() const;
  [[nodiscard]] bool is_over() const;

  /// Nobody waits for ever: a round without clients is given up after this time.
  static constexpr virtual_time longest_wait = 7 * 86400 * microseconds_per_second;

  /// A version's model, and how many open tasks need it.
  struct shown_model {
    broadcast_ptr from;
    std::size_t open = 0;
  };

  void show_model();
  void open(const open_task& task);
  [[nodiscard]] bool needs_model(const open_task& task) const;
  void release_model(std::uint64_t version);
  void look(server_effects& out);
  [[nodiscard]] bool refill(server_effects& out);
  void look_again(server_effects& out, virtual_time at_latest);
  [[nodiscard]] std::vector<std::uint32_t> choose(std::size_t count);
  [[nodiscard]] bool may_be_asked(std::uint32_t client);
  void note_probe(std::uint32_t client, bool there);
  [[nodiscard]] std::vector<task_id> give_out(const std::vector<std::uint32_t>& clients);
  void deal(const std::vector<task_id>& tasks, bool begins, server_effects& out);
  void deal_by_route(const std::vector<task_id>& tasks, server_effects& out);
  [[nodiscard]] bool begin_share(std::uint32_t aggregator);
  void begin_round_by_route(server_effects& out);
  void close_shares(bool enough, server_effects& out);
  void settle(std::uint32_t aggregator, const settlement& one);
  void after_settling(server_effects& out);
  void tell_over(server_effects& out);
  void judge_held(const std::set<task_id>& holding, server_effects& out);
  [[nodiscard]] bool is_closing(std::uint32_t aggregator) const;
  [[nodiscard]] bool lost_with_its_node(const task_id& id) const;
  void give_to(std::uint32_t aggregator, const task_id& id);
  void place(open_task& task, server_effects& out);
  void place_waiting(server_effects& out);
  void cast_adrift(open_task& task);
  void settle_here(const task_id& id, outcome what, drop_stage stage);
  void unfold(std::uint32_t aggregator, const std::set<task_id>& gone);
  void send_elsewhere(const std::vector<task_id>& tasks, server_effects& out);
  void wait_for_the_adrift(server_effects& out);
  void drop_the_adrift(server_effects& out);
  [[nodiscard]] bool draws_spans() const;
  void remember_span(const open_task& task, outcome what, std::optional<virtual_time> ended_at);
  void write_down(const settlement& one);

  [[nodiscard]] result<void> check(const partial_aggregate& partial) const;
  void conclude(server_effects& out);
  void give_up(const std::string& why);
  [[nodiscard]] round_facts take_facts();
  void mix_in_base(aggregate& round) const;
  [[nodiscard]] std::optional<attention_weights> weigh_updates() const;
  [[nodiscard]] bool clients_wait() const;
  [[nodiscard]] server_effects after_evaluation();

  const experiment& e_;
  server_state state_;
  roster* who_;
  server_optimizer optimizer_;
  std::unique_ptr<selection_policy> policy_;
  std::unique_ptr<accumulator> sum_;
  broadcast_ptr current_;
  std::uint64_t task_bytes_ = 0;                               // encoded size of a task and `current_`
  std::unordered_map<std::uint32_t, open_task> open_;          ///< by client
  std::unordered_map<std::uint64_t, shown_model> broadcasts_;  ///< of the versions that open tasks need
  std::vector<std::uint64_t> unused_;                          ///< of these, versions that may have no open task left
  std::vector<std::vector<std::uint32_t>> dealt_;  ///< clients of each aggregator in this round; synchronous
  std::vector<std::vector<settlement>> told_;      ///< by aggregator: updates it said it folded in its share
  std::vector<settlement> merged_;                 ///< of this round, in partials that were merged
  std::vector<update_size> oversized_;             ///< of this round: updates that an adaptive limit refused
  std::vector<bool> begun_;                        ///< by aggregator: it has, or had, a share of this round
  std::vector<bool> asked_;                        ///< to close it
  std::vector<bool> answered_;
  std::size_t pending_ = 0;        ///< aggregators that have not answered
  std::vector<task_id> folded_;    ///< in this round, not yet in a model
  std::size_t open_in_round_ = 0;  ///< synchronous: tasks of this round without an end
  std::size_t goal_ = 0;           ///< folded updates that close the round
  bool dealt_out_ = false;         ///< the round's shares are under way
  bool closing_ = false;
  bool all_ended_ = false;     ///< it is closing since all tasks have ended, and goes on if some of these ends are lost
  std::uint32_t looks_ = 0;    ///< for clients, in this round
  std::uint64_t probes_ = 0;   ///< clients looked at in this round, as often as they were
  std::vector<bool> probed_;   ///< by client, in this round: looked at
  std::vector<bool> reached_;  ///< and could be asked at one of the looks
  bool resting_ = false;       ///< the last look met clients that only pace steering keeps away
  virtual_time round_began_ = 0;
  // Where clients are routed:
  const bool routed_;
  struct adrift_task {
    virtual_time since = 0;
    drop_stage stage = drop_stage::train;  ///< in which it drops out if its client does not come back
  };
  std::map<std::uint32_t, adrift_task> adrift_;  ///< by client: its open task is with nobody
  std::set<task_id> withdrawing_;                ///< asked back, and not given back yet
  /// By client: the process of the node (roster::instance) that was given its open or folded task last, or holds it.
  /// None: nobody has it.
  std::unordered_map<std::uint32_t, std::uint64_t> given_to_;
  std::set<std::uint32_t> placed_next_;  ///< of the adrift: clients that are reached, and wait for a share to begin
  std::map<task_id, std::uint64_t> in_model_;  ///< folded, and in no durable checkpoint yet: in which version's round
  std::vector<task_id> over_;                  ///< ended, and nobody told their clients
  std::map<rejection, std::vector<task_id>> refused_;  ///< rejected, the same
  /// By client, with later tasks in in_model_: tasks that its node held when it said so last, the newest few. Over when
  /// that is durable.
  std::map<std::uint32_t, std::vector<task_id>> superseded_;
  accounting reported_;                 ///< counts as of the last closed round
  std::vector<open_task> ended_since_;  ///< since then, and not folded
  virtual_time next_look_ = never;      ///< the timer that counts; others are void
  bool waits_for_adrift_ = false;       ///< a timer is running
  round_report report_;
  std::vector<run_event> events_;  ///< of this round
  bool stopping_ = false;
  bool checkpoint_wanted_ = false;
  bool reviewing_ = false;  ///< the run is over, and the best of its models is evaluated
};

}  // namespace furlong::federated::protocol
