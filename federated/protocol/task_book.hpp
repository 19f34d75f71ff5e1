// Tasks without an outcome, and where each of them is.
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "federated/experiment/update.hpp"
#include "federated/settings/virtual_time.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated::protocol {

/// An open task without an aggregator.
struct orphaned_task {
  virtual_time since = 0;
  drop_stage stage = drop_stage::train;  ///< in which it drops out if its client does not come back
};

/// The open tasks of a run. A client has one at most. Where clients are routed:
///   - A task is with an aggregator, or it is orphaned: its aggregator is `nowhere`. An orphaned task waits for its
///     client to be reached, or, if that is so already, for the aggregator's next share.
///   - A task that is withdrawn is still with its aggregator until that gives it back.
///   - The holder of a client is the process of its node (roster::instance) that was given the client's open or
///     aggregated task last, or has it. A task without a holder is with nobody. The holder outlives the open task if
///     its update was aggregated, for the update can be lost.
/// References to tasks are valid until the task ends.
class task_book {
 public:
  open_task& open(const open_task& task) { return tasks_[task.id.client] = task; }
  /// The task has an outcome.
  void end(const task_id& task);
  /// Closes all tasks that are not closed yet; returns them, in no order.
  [[nodiscard]] std::vector<open_task> close(bool surplus);

  [[nodiscard]] bool empty() const { return tasks_.empty(); }
  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  /// Whether a client has an open task.
  [[nodiscard]] bool contains(std::uint32_t client) const { return tasks_.contains(client); }
  /// Whether this very task is open.
  [[nodiscard]] bool contains(const task_id& task) const { return find(task) != nullptr; }
  /// The open task of a client, or this very task; null if it is not there.
  [[nodiscard]] open_task* find(std::uint32_t client);
  [[nodiscard]] const open_task* find(std::uint32_t client) const;
  [[nodiscard]] open_task* find(const task_id& task);
  [[nodiscard]] const open_task* find(const task_id& task) const;
  /// The tasks of clients first to last, by client.
  [[nodiscard]] std::vector<open_task> between(std::uint32_t first, std::uint32_t last) const;
  [[nodiscard]] std::vector<open_task> by_client() const { return between(0, UINT32_MAX); }
  /// The tasks that are with an aggregator, by client.
  [[nodiscard]] std::vector<task_id> tasks_with(std::uint32_t aggregator) const;

  /// The task goes to an aggregator, and to a process of its node.
  void assign(open_task& task, std::uint32_t aggregator, std::uint64_t holder);
  /// The task is without an aggregator from now on.
  void orphan(open_task& task, virtual_time now);
  /// An update of the client's open task got lost: it is orphaned until it is assigned again.
  void lose_update(std::uint32_t client, virtual_time now) { orphaned_[client] = {now, drop_stage::upload}; }
  /// An orphaned task waits for the next share of its client's aggregator.
  void await_share(std::uint32_t client) { awaiting_share_.insert(client); }
  /// Clients whose tasks did, ascending. They do not any more.
  [[nodiscard]] std::set<std::uint32_t> take_awaiting_share() { return std::exchange(awaiting_share_, {}); }

  /// Orphaned tasks whose clients are waited for, by client.
  [[nodiscard]] std::map<std::uint32_t, orphaned_task> lost_clients() const;
  /// True if there are any and no timeout of theirs is running; one is from now on.
  [[nodiscard]] bool begin_timeout();
  void end_timeout() { timeout_runs_ = false; }

  /// False if it was withdrawn before.
  [[nodiscard]] bool withdraw(const task_id& task) { return withdrawn_.insert(task).second; }
  /// The task is not with its aggregator any more. It is to be assigned or orphaned, or ends.
  void give_back(open_task& task);

  void set_holder(std::uint32_t client, std::uint64_t holder) { holders_[client] = holder; }
  void remove_holder(std::uint32_t client) { holders_.erase(client); }
  /// True if the client's task has a holder other than its node's current process.
  [[nodiscard]] bool has_lost_holder(std::uint32_t client, std::uint64_t current) const;

 private:
  std::unordered_map<std::uint32_t, open_task> tasks_;        ///< by client
  std::map<std::uint32_t, orphaned_task> orphaned_;           ///< by client
  std::set<std::uint32_t> awaiting_share_;                    ///< of these
  std::set<task_id> withdrawn_;                               ///< and not given back
  std::unordered_map<std::uint32_t, std::uint64_t> holders_;  ///< by client
  bool timeout_runs_ = false;
};

}  // namespace furlong::federated::protocol
