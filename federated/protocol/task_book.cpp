#include "federated/protocol/task_book.hpp"

#include <algorithm>

namespace furlong::federated::protocol {

void task_book::end(const task_id& task) {
  tasks_.erase(task.client);
  orphaned_.erase(task.client);
  awaiting_share_.erase(task.client);
  withdrawn_.erase(task);
}

std::vector<open_task> task_book::close(bool surplus) {
  std::vector<open_task> closed;
  for (auto& [client, task] : tasks_) {
    if (task.closed) continue;
    task.closed = true;
    task.surplus = surplus;
    closed.push_back(task);
  }
  return closed;
}

open_task* task_book::find(std::uint32_t client) {
  const auto found = tasks_.find(client);
  return found != tasks_.end() ? &found->second : nullptr;
}

const open_task* task_book::find(std::uint32_t client) const {
  const auto found = tasks_.find(client);
  return found != tasks_.end() ? &found->second : nullptr;
}

open_task* task_book::find(const task_id& task) {
  auto* const found = find(task.client);
  return found != nullptr && found->id == task ? found : nullptr;
}

const open_task* task_book::find(const task_id& task) const {
  const auto* const found = find(task.client);
  return found != nullptr && found->id == task ? found : nullptr;
}

std::vector<open_task> task_book::between(std::uint32_t first, std::uint32_t last) const {
  std::vector<open_task> tasks;
  for (const auto& [client, task] : tasks_)
    if (first <= client && client <= last) tasks.push_back(task);
  std::ranges::sort(tasks, {}, [](const open_task& task) { return task.id.client; });
  return tasks;
}

std::vector<task_id> task_book::tasks_with(std::uint32_t aggregator) const {
  std::vector<task_id> tasks;
  for (const auto& [client, task] : tasks_)
    if (task.aggregator == aggregator) tasks.push_back(task.id);
  std::ranges::sort(tasks, {}, &task_id::client);
  return tasks;
}

void task_book::assign(open_task& task, std::uint32_t aggregator, std::uint64_t holder) {
  task.aggregator = aggregator;
  orphaned_.erase(task.id.client);
  holders_[task.id.client] = holder;
}

void task_book::give_back(open_task& task) {
  withdrawn_.erase(task.id);
  task.aggregator = nowhere;
}

void task_book::orphan(open_task& task, virtual_time now) {
  task.aggregator = nowhere;
  const auto stage = holders_.contains(task.id.client) ? drop_stage::train : drop_stage::download;
  orphaned_.try_emplace(task.id.client, orphaned_task{0, stage}).first->second.since = now;
}

std::map<std::uint32_t, orphaned_task> task_book::lost_clients() const {
  auto lost = orphaned_;
  for (const auto client : awaiting_share_) lost.erase(client);
  return lost;
}

bool task_book::begin_timeout() {
  // Those that await a share are orphaned too.
  if (timeout_runs_ || orphaned_.size() == awaiting_share_.size()) return false;
  return timeout_runs_ = true;
}

bool task_book::has_lost_holder(std::uint32_t client, std::uint64_t current) const {
  const auto holder = holders_.find(client);
  return holder != holders_.end() && holder->second != current;
}

}  // namespace furlong::federated::protocol
