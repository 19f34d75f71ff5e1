// The environment of the processes of a simulated federation: disks and devices of its clients, and observers.
#pragma once

#include <string>

#include "federated/client/confirmed_lists.hpp"
#include "federated/processes/node_work.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/simulation/network/link.hpp"
#include "federated/simulation/virtual_run.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated::network {

class server_process;

[[nodiscard]] inline std::string text_of(const task_id& id) {
  return "task " + std::to_string(id.version) + "/" + std::to_string(id.client) + "/" + std::to_string(id.attempt);
}

/// A node's private store, which outlives its process.
class node_disk {
 public:
  virtual ~node_disk() = default;
  /// Under secure aggregation: outlives the node's process.
  [[nodiscard]] std::shared_ptr<confirmed_lists> confirmed() const { return confirmed_; }
  /// A node's process makes ready for a life of the run: values that are not in its history do not count.
  [[nodiscard]] virtual result<void> open(const run_history& history, std::uint64_t covered) = 0;
  [[nodiscard]] virtual private_store& values() = 0;
  /// As of now; none: nothing is claimed of it.
  [[nodiscard]] virtual store_claim claim() const { return {}; }
  /// Records durably that updates up to this version, minus 1, are reported.
  [[nodiscard]] virtual result<void> note_served(std::uint64_t /*served*/) { return {}; }

 private:
  std::shared_ptr<confirmed_lists> confirmed_ = std::make_shared<confirmed_lists>();
};

/// Called while an event happens, by the process that it happens to. Ids of gateways and relays are never used twice.
class environment {
 public:
  explicit environment(const experiment& e) : e_(e) {}
  virtual ~environment() = default;
  environment(const environment&) = delete;
  environment& operator=(const environment&) = delete;

  // The run, as its server describes it.
  virtual void on_event(const run_event& what) = 0;
  virtual void on_round(const round_report& report, const protocol::server_machine& server) = 0;
  virtual void on_evaluation(const evaluation_report& figures, std::size_t missing) = 0;
  /// To be answered by server_process::on_checkpointed().
  virtual void on_checkpoint(server_process& server) = 0;
  virtual void on_finish(bool interrupted) = 0;
  /// Whether the run is not to begin yet with fewer clients than network.start asks for, after so long.
  [[nodiscard]] virtual bool waits_for_more(virtual_time) const { return true; }
  /// Enough clients have joined: the run begins at this time, of the run's clock.
  virtual void on_begin(virtual_time) {}
  virtual void on_round_begins(std::uint64_t /*version*/, virtual_time) {}
  /// Whether the run is to end after the round under way.
  [[nodiscard]] virtual bool stops() const { return false; }
  /// Whether the model failed in the evaluation under way: the run is to end, with the evaluation still to be made.
  [[nodiscard]] virtual bool evaluation_failed() const { return false; }
  /// A process broke its contract, or the store or the algorithm's step failed.
  virtual void on_failure(error what) = 0;
  void wrong(std::string what) {
    on_failure({error::kind::runtime, "the simulated federation", std::move(what), "report it with the scenario"});
  }

  // Clients.
  [[nodiscard]] virtual node_disk& disk(std::uint32_t node) = 0;
  [[nodiscard]] virtual fate fate_of(std::uint32_t /*node*/, const task_id& task, virtual_time now) {
    return draw_fate(e_, task, now);
  }
  /// A task begins with this fate, which may be changed: its client may be behind a partition already.
  virtual void on_fate(simulated_task&) {}
  virtual void on_dropped(const task_id&, drop_cause) {}
  [[nodiscard]] virtual bool available(std::uint32_t /*client*/, virtual_time, std::uint64_t /*version*/) {
    return true;
  }
  /// The first instant after `now` at which available() gives another answer; `now` if it is not known.
  [[nodiscard]] virtual virtual_time available_until(std::uint32_t /*client*/, virtual_time now, std::uint64_t) {
    return now;
  }
  /// Fates, and availability, are of the run's clock, which is ahead of that of the network by so much.
  [[nodiscard]] virtual virtual_time clock_ahead() { return 0; }
  [[nodiscard]] virtual bool waiting_helps() const { return true; }
  /// How long a node takes to score clients.
  [[nodiscard]] virtual virtual_time scoring_time(std::uint32_t /*node*/) { return 0; }
  /// How long a node takes to make ready for a run.
  [[nodiscard]] virtual virtual_time opening_time(std::uint32_t /*node*/) { return 0; }
  [[nodiscard]] virtual scored_client score(std::uint32_t node, const broadcast& model, group in,
                                            std::uint32_t client) = 0;
  /// How a node's process works.
  [[nodiscard]] virtual processes::work_policy work_of(std::uint32_t /*node*/) { return {}; }
  /// A client has trained.
  virtual void on_work_done(training_job&) {}
  /// Whether the training of a task fails.
  [[nodiscard]] virtual bool fails(const task_id&) { return false; }

  /// Whether a node sends an update twice, as one does that takes it for lost.
  [[nodiscard]] virtual bool sends_twice(const task_id&) { return false; }

  // Hooks for checks.
  virtual void on_server_step(const protocol::server_machine&) {}
  virtual void on_update(std::uint64_t /*gateway*/, const update_ptr&) {}
  virtual void on_settled(std::uint64_t /*gateway*/, const settlement&) {}
  /// A share begins at a gateway or relay, and one is sent up by it, after others were merged.
  virtual void on_share(std::uint64_t /*by*/) {}
  virtual void on_merged(std::uint64_t /*by*/, const partial_ptr&) {}
  virtual void on_sent(std::uint64_t /*by*/, const partial_ptr&) {}
  /// The server is about to merge it.
  virtual void on_arrived(const partial_ptr&) {}
  /// A node hears a verdict on a task that it holds; `history` as it knows it.
  virtual void on_verdict(const protocol::verdict&, const run_history& /*history*/) {}
  /// A client begins this task in that life of the run, on a node's process. Ids of processes are never used twice.
  virtual void on_begins(const task_id&, std::uint32_t /*life*/, std::uint64_t /*process*/) {}
  /// A node keeps the private values of this task, trained at that time.
  virtual void on_kept(const task_id&, std::uint32_t /*life*/, virtual_time) {}
  virtual void on_redirected() {}
  virtual void on_tasks_lost(std::size_t) {}

 protected:
  const experiment& e_;
};

}  // namespace furlong::federated::network
