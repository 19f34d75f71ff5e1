// A run of `[topology] nodes` in virtual time: a federation of simulated processes, and the scenario's events.
//
// Links take a millisecond a message and lose nothing; devices, availability and dropout are those of the clients, as
// without nodes. A run that is resumed starts all processes again from the server's checkpoint, as after a loss of
// power everywhere: what nodes held in memory is lost, and what clients stored is there.
#pragma once

#include <optional>
#include <string>

#include "federated/simulation/membership.hpp"
#include "federated/simulation/network/federation.hpp"
#include "federated/simulation/virtual_run.hpp"

namespace furlong::federated::network {

/// The share that nodes have of a store of the whole run, which the engine saves with its checkpoints.
class shared_disk final : public node_disk, private private_store {
 public:
  explicit shared_disk(private_store& store) : store_(store) {}
  [[nodiscard]] result<void> open(const run_history&, std::uint64_t) override { return {}; }
  [[nodiscard]] private_store& values() override { return *this; }

 private:
  [[nodiscard]] result<bool> load(std::uint32_t client, models::private_parameters& out) override {
    return store_.load(client, out);
  }
  [[nodiscard]] result<void> commit(std::uint32_t client, std::uint64_t version,
                                    const models::private_parameters& value) override {
    return store_.commit(client, version, value);
  }
  [[nodiscard]] result<void> sync() override { return {}; }
  void covered(std::uint64_t) override {}
  [[nodiscard]] result<bool> erase(std::uint32_t client) override { return store_.erase(client); }
  [[nodiscard]] result<void> visit(
      const std::function<void(std::uint32_t, std::uint64_t, const models::private_parameters&)>& each) override {
    return store_.visit(each);
  }
  [[nodiscard]] result<void> stage(const task_id& task, const models::private_parameters& value) override {
    return store_.stage(task, value);
  }
  [[nodiscard]] result<void> discard(const task_id& task) override { return store_.discard(task); }
  [[nodiscard]] result<void> visit_pending(
      const std::function<void(const task_id&, const models::private_parameters&)>& each) override {
    return store_.visit_pending(each);
  }

  private_store& store_;
};

class simulated_run final : public virtual_run, private environment {
 public:
  simulated_run(const experiment& e, server_state start, private_store& store, const run_observer& observer);

  [[nodiscard]] result<run_needs> advance() override;
  void take_jobs(std::size_t count, std::vector<training_job>& out) override;
  void on_trained(training_job&& done) override;
  [[nodiscard]] std::size_t ahead() const override { return jobs_->ahead(); }
  void on_evaluated(const evaluation_report&) override {}
  void on_evaluation_failed(error why) override { on_failure(std::move(why)); }
  [[nodiscard]] result<void> on_checkpointed() override;
  void stop() override { stopping_ = true; }
  void stop_when(const std::atomic<bool>& flag) override { stop_ = &flag; }
  [[nodiscard]] const server_state& state() const override { return federation_.server()->machine().state(); }
  [[nodiscard]] model_version under_test() const override { return federation_.server()->machine().under_test(); }
  [[nodiscard]] server_state snapshot() const override;
  [[nodiscard]] const std::vector<std::uint32_t>& leaving() const override { return past_.erasures; }
  [[nodiscard]] bool interrupted() const override { return interrupted_; }
  [[nodiscard]] const evaluation_report* scored() const override { return &last_evaluation_; }

 private:
  void on_event(const run_event& what) override;
  void on_round(const round_report& report, const protocol::server_machine& server) override;
  void on_evaluation(const evaluation_report& figures, std::size_t missing) override;
  void on_checkpoint(server_process& server) override;
  void on_finish(bool interrupted) override;
  [[nodiscard]] bool waits_for_more(virtual_time waited) const override;
  void on_begin(virtual_time now) override;
  void on_round_begins(std::uint64_t version, virtual_time now) override;
  [[nodiscard]] bool stops() const override;
  void on_failure(error what) override;
  [[nodiscard]] bool evaluation_failed() const override { return evaluation_failure_.has_value(); }
  [[nodiscard]] node_disk& disk(std::uint32_t) override { return disk_; }
  [[nodiscard]] bool available(std::uint32_t client, virtual_time now, std::uint64_t version) override;
  [[nodiscard]] virtual_time available_until(std::uint32_t client, virtual_time now, std::uint64_t version) override;
  [[nodiscard]] virtual_time clock_ahead() override;
  [[nodiscard]] bool waiting_helps() const override;
  [[nodiscard]] scored_client score(std::uint32_t node, const broadcast& model, group in,
                                    std::uint32_t client) override;
  void on_kept(const task_id& task, std::uint32_t life, virtual_time trained_at) override;
  void on_fate(simulated_task& task) override;
  void on_dropped(const task_id& task, drop_cause cause) override;

  void start_processes();
  void record_first_event(const event_settings& event);
  void record_process_event(const event_settings& event);
  void trigger_event(std::uint32_t index);
  void apply_to_clients(const event_settings& event, const client_set& whom);
  void apply_to_process(const event_settings& event, host at);
  [[nodiscard]] host host_of(const event_settings& event, std::uint32_t number) const;
  [[nodiscard]] result<void> erase_those_who_left();
  [[nodiscard]] result<void> discard_lost_tasks();
  [[nodiscard]] bool is_over();

  private_store& store_;
  const run_observer& observer_;
  shared_disk disk_;
  membership members_;
  simulation_state past_;       ///< events and erasures
  std::vector<bool> happened_;  ///< by event
  std::set<host> down_;         ///< hosts whose process is not to run
  std::set<host> isolated_;
  federation federation_;
  training_queue* jobs_;
  workspace use_;
  evaluation_report last_evaluation_;
  const std::atomic<bool>* stop_ = nullptr;
  bool resumed_;
  bool stopping_ = false;
  bool told_to_stop_ = false;  ///< the server was
  bool begun_ = false;         ///< advance() was called
  bool checkpoint_due_ = false;
  bool interrupted_ = false;
  bool finished_ = false;
  std::optional<virtual_time> over_at_;
  std::optional<error> failure_;
  std::optional<error> evaluation_failure_;  ///< of the model; fails the run after a checkpoint
};

}  // namespace furlong::federated::network
