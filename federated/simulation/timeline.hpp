// A federation in one process: the state machines of server and aggregators, driven by one timeline. Under the real
// clock there is no simulated world: a task takes no time, and all the rest is the same.
//
// Nothing here waits or computes: network, devices, dropout and faults are times on the timeline, worked out when a
// task begins. Only training is real. It is handed out as jobs, in the order in which tasks end, and its result is
// asked for when the timeline gets there; a task whose fate makes its training useless is never handed out. So threads
// can train ahead of the timeline, and what happens does not depend on them.
//
// Entries are ordered by (time, kind, a draw, client, version): the same whichever thread computed what, and after a
// resume.
#pragma once

#include <queue>
#include <set>
#include <span>
#include <unordered_map>
#include <vector>

#include "federated/processes/masked_reports.hpp"
#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/simulation/membership.hpp"
#include "federated/simulation/virtual_run.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

class timeline : public virtual_run, public protocol::roster {
 public:
  /// Goes on from `start`. All but `start` must outlive the timeline. One thread at a time.
  timeline(const experiment& e, server_state start, private_store& store, const run_observer& observer,
           add_mode mode = add_mode::by_run);

  [[nodiscard]] result<run_needs> advance() override;
  void take_jobs(std::size_t count, std::vector<training_job>& out) override;
  void on_trained(training_job&& done) override;
  [[nodiscard]] std::size_t ahead() const override { return ahead_; }
  void take_adds(std::vector<add_order>& out) override;
  [[nodiscard]] std::vector<std::uint32_t> sums_wanted() const override;
  void on_sums(std::uint32_t aggregator, accumulator_state&& sums) override;
  void on_evaluated(const evaluation_report& figures) override;
  void on_evaluation_failed(error why) override;
  [[nodiscard]] result<void> on_checkpointed() override;
  void stop() override { server_.stop(); }
  void stop_when(const std::atomic<bool>& flag) override { stop_ = &flag; }
  [[nodiscard]] const server_state& state() const override { return server_.state(); }
  [[nodiscard]] model_version under_test() const override { return server_.under_test(); }
  [[nodiscard]] server_state snapshot() const override;
  [[nodiscard]] const std::vector<std::uint32_t>& leaving() const override { return past_.erasures; }
  [[nodiscard]] std::vector<std::uint32_t> unresponsive() const override { return members_.unresponsive(); }
  [[nodiscard]] bool interrupted() const override { return interrupted_; }

  void on_round(std::uint64_t version, virtual_time now) override;
  [[nodiscard]] bool reachable(std::uint32_t client, virtual_time now, std::uint64_t version) override;
  [[nodiscard]] bool waiting_helps() const override;
  [[nodiscard]] std::optional<std::uint64_t> foresight() const override { return world_changes_; }
  [[nodiscard]] virtual_time reachable_until(std::uint32_t client, virtual_time now,
                                             std::uint64_t version) const override;

 private:
  enum class entry_kind : std::uint8_t { event, task, presence, timer };
  struct entry {
    virtual_time at = 0;
    entry_kind kind = entry_kind::task;
    std::uint32_t order = 0;    ///< a task's among those that end with it, drawn
    std::uint32_t client = 0;   ///< a task's; one that is looked at; an event's index; a timer's kind
    std::uint64_t version = 0;  ///< a task's or a timer's
    std::uint32_t attempt = 0;
    friend auto operator<=>(const entry&, const entry&) = default;
  };
  struct later {
    bool operator()(const entry& a, const entry& b) const { return a > b; }
  };
  using schedule = std::priority_queue<entry, std::vector<entry>, later>;

  enum class training : std::uint8_t { waiting, taken, done };
  struct live_task {
    simulated_task what;
    std::uint32_t aggregator = 0;
    broadcast_ptr from;  ///< null once it is not to be trained any more
    training stage = training::waiting;
    bool closed = false;  ///< its round is over: its update is of no use
    training_job result = {};
  };
  struct held_values {
    task_id task;
    models::packed_private own;
    virtual_time trained_at = 0;
  };

  void perform_all();
  void perform(protocol::assign& effect);
  void perform(protocol::close_share& effect);
  void perform(protocol::timer& effect);
  void perform(protocol::acknowledge& effect);
  // Of clients that are routed, which here they are not.
  void perform(protocol::withdraw&) {}
  void perform(protocol::taken&) {}
  void perform(protocol::decline&) {}
  // Secure aggregation, whose letters take no time here.
  void perform(protocol::send_letters& effect);
  void perform(protocol::remove_masks& effect);
  void perform(protocol::note& effect);
  void perform(protocol::round_closed& effect);
  void perform(protocol::failed& effect) { fail_round(std::move(effect.why)); }
  void perform(protocol::evaluate&) { needs_ = run_needs::evaluation; }
  void perform(protocol::checkpoint&) { needs_ = run_needs::checkpoint; }
  void perform(protocol::proceed&);
  void perform(protocol::finish& effect);
  void queue(protocol::server_effects&& effects);
  void perform_share(std::uint32_t aggregator);
  void perform(std::uint32_t aggregator, protocol::settled& effect);
  void perform(std::uint32_t aggregator, partial_aggregate& effect);
  void perform(std::uint32_t, protocol::withdrawn&) {}
  void perform(std::uint32_t aggregator, protocol::add_update& effect);
  void merge(partial_aggregate&& partial);
  [[nodiscard]] update_use use_of(const live_task& task) const;

  /// Before the first of anything else in this life.
  [[nodiscard]] result<void> begin();
  /// Handles the first entry of the schedule. False: it needs a result.
  bool step();
  void end_task(live_task& task);
  void give_update(live_task& task);
  void give_masked_update(live_task& task);
  enum class letter_fate : std::uint8_t { answered, kept, unanswered };
  [[nodiscard]] letter_fate fate_of(const privacy::secure_letter& letter) const;
  void drop_unmasked(std::uint32_t client, std::optional<drop_cause> cause = {});
  void end_unmasked(std::uint32_t client, bool closed);
  void apply_to_unmasked(const event_settings& event, const client_set& whom);
  void watch(const task_id& task, virtual_time at);
  void look_at(const task_id& task);
  void deliver_letters(std::uint32_t client);
  bool keep(const live_task& task);
  void note_failure(std::uint32_t client, const error& why);
  void trigger_event(std::uint32_t index);
  void apply_event(const event_settings& event, const client_set& whom);
  void schedule_task(const live_task& task);
  [[nodiscard]] bool is_current(const entry& one) const;
  [[nodiscard]] bool needs_training(const live_task& task) const;
  [[nodiscard]] bool erasure_must_wait() const;
  [[nodiscard]] result<void> erase_those_who_left();
  void recycle(training_job&& done);
  void fail_with(error why);
  [[nodiscard]] simulation_state simulated() const;
  void take_back_round();
  void fail_round(error why);
  [[nodiscard]] result<void> store_kept_values();

  const experiment& e_;
  private_store& store_;
  const run_observer& observer_;
  add_mode adding_;
  bool trains_discarded_;  ///< training must run although the update is discarded
  protocol::server_machine server_;
  std::vector<protocol::aggregator_machine> aggregators_;
  membership members_;
  simulation_state past_;  ///< events and erasures; tasks are those alive
  virtual_time now_ = 0;
  schedule entries_;
  schedule untrained_;  ///< tasks by their end; those that need no training any more are skipped
  std::unordered_map<std::uint32_t, live_task> tasks_;   ///< by client
  std::unordered_map<std::uint32_t, held_values> held_;  ///< values that wait for an acknowledgement, by client
  /// By client: values of this round that are to be kept, where it can be taken back. They are stored when it has
  /// closed.
  std::map<std::uint32_t, models::packed_private> kept_;
  std::optional<processes::masked_reports> secrets_;  ///< under secure aggregation
  std::map<std::uint32_t, live_task> unmasked_;       ///< by client: trained, while others have not sent their keys
  std::map<std::uint32_t, protocol::letters> undelivered_;  ///< by client: it is off, or behind a partition
  std::set<std::uint32_t> watched_;                         ///< clients that an entry looks at
  std::vector<protocol::server_effect> effects_;            ///< to be performed, in order
  std::size_t performed_ = 0;                               ///< of them
  protocol::aggregator_effects share_effects_;
  // Where those who train add updates up:
  std::map<task_id, std::uint32_t> held_updates_;  ///< of which nothing is decided, with their aggregators
  std::vector<add_order> orders_;                  ///< to be taken
  std::vector<partial_aggregate> unsummed_;        ///< partials of the version that wait for their sums
  std::vector<bool> happened_;                     ///< by event
  std::uint64_t world_changes_ = 0;                ///< events, and erasures that are done
  std::vector<training_job> spare_;                ///< their buffers serve again
  std::size_t ahead_ = 0;
  const std::atomic<bool>* stop_ = nullptr;
  bool begun_ = false;
  run_needs needs_ = run_needs::training;
  bool paused_ = false;  ///< evaluation or checkpoint is under way
  bool interrupted_ = false;
  std::optional<error> failure_;
  std::optional<error> model_failure_;  ///< fails the run after the checkpoint
  /// Of a model that may fail, and of synchronous rounds, which may wait for clients: the simulation before the round
  /// under way.
  simulation_state before_round_;
  std::optional<server_state> taken_back_;  ///< the state before a round that failed, or had not begun
};

}  // namespace furlong::federated
