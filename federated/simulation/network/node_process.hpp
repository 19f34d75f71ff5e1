// The process of a simulated node: hosts node_role on links of the simulated network. The devices or workers of its
// clients, what befalls them, and the hooks for checks are here; what a node does is in federated/processes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "federated/processes/node_role.hpp"
#include "federated/simulation/network/calling_process.hpp"

namespace furlong::federated::network {

class node_process final : public calling_process<processes::node_surroundings> {
 public:
  /// `index`: among the nodes.
  node_process(shared_world& in, host at, std::uint32_t index, client_range clients);
  ~node_process() override;
  void start();
  void drain();
  [[nodiscard]] bool stopped() const { return role_.is_over(); }
  [[nodiscard]] const protocol::node_machine& machine() const { return role_.machine(); }
  /// Tasks whose updates it holds.
  [[nodiscard]] std::vector<task_id> holding() const { return role_.holding(); }
  /// Something happens to the devices of its clients: changes the fates of tasks under way. `change` returns whether
  /// the end of the task has moved.
  void update_fates(const std::function<bool(simulated_task&)>& change);
  /// Their values that wait for an acknowledgement are lost.
  void forget_held(const std::function<bool(std::uint32_t)>& client) { role_.lose_values(client); }

 private:
  /// A task on a client's device.
  struct live_task {
    simulated_task what;
    std::uint64_t job = 0;  ///< 0: its training is of no use
  };

  // What the role asks for.
  using calling_process::send;
  void send(session_number session, const processes::outgoing_update_ptr& update) override;
  void send_dropped(session_number session, const task_id& task, drop_stage stage) override;
  void prepare(const protocol::welcome& content) override;
  [[nodiscard]] result<processes::outgoing_update_ptr> encode(const processes::node_run& run,
                                                              client_update&& update) override;
  void violated(const std::string& why) override { in_.around.wrong("the gateway of a node " + why); }
  void heard(const protocol::verdicts& content) override;
  void stored(const task_id& task, virtual_time trained_at) override;
  void ended(const processes::node_end& end) override;

  // What befalls its sessions.
  void on_wake() override;
  void on_opened(session_number session) override;
  void on_arrival(session_number session, message&& content) override;
  void on_end(session_number session) override;

  /// After every call of the role.
  void go_on();
  void check_verdicts();
  void begin(training_job&& job);
  void begin_on_device(training_job&& job, virtual_time now_of_run, const fate& drawn);
  void begin_at_worker(training_job&& job, virtual_time length);
  void end_at_worker(processes::node_run_ptr run, processes::trained_task&& done);
  /// The client's values as they are in the store; empty: none.
  [[nodiscard]] result<models::packed_private> values_of(std::uint32_t client);
  void fail_if_drawn(training_job& job);
  void begin(processes::scoring&& asked);
  void schedule(std::uint64_t number);
  void end_work(std::uint64_t number);
  [[nodiscard]] bool needs_training(const simulated_task& what) const;

  std::uint32_t index_;
  client_range clients_;
  std::uint64_t id_;
  processes::node_role role_;
  run_history history_;
  std::map<std::uint64_t, live_task> live_;  ///< by number
  std::uint64_t last_ = 0;
  std::weak_ptr<const processes::node_run> run_;  ///< the newest, while the role or a worker has it
  bool heard_ = false;                            ///< verdicts, in the event under way
  std::vector<task_id> taken_;                    ///< of held updates that they call taken
  models::private_parameters values_;             ///< scratch
};

}  // namespace furlong::federated::network
