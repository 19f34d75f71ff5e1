// Tasks of clients that are routed through aggregators, which connect and disconnect.
#include <algorithm>
#include <map>

#include "federated/protocol/server_machine.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

/// Asynchronous: at all aggregators, since updates of earlier versions may be on their way to any of them.
void server_machine::begin_shares(const std::vector<std::uint32_t>& aggregators, server_effects& out) {
  shares_.open();
  for (const auto aggregator : aggregators) {
    static_cast<void>(shares_.begin(aggregator));
    out.emplace_back(assign{aggregator, shelf_.newest(), {}, true});
  }
  assign_waiting_tasks(out);
}

bool server_machine::waits_for_every_task() const {
  return routed_ && !is_async() && how().deadline == 0 && how().over_selection <= 1.0;
}

void server_machine::assign_by_route(const std::vector<task_id>& tasks, server_effects& out) {
  shares_.open();
  std::map<std::uint32_t, std::vector<task_id>> shares;
  for (const auto& task : tasks) {
    const auto to = roster_->route(task.client);
    auto& opened = open({task, nowhere, state_.now, false, false});
    if (to) {
      shares[*to].push_back(task);
      tasks_.assign(opened, *to, roster_->instance(task.client));
    } else {
      tasks_.remove_holder(task.client);
      tasks_.orphan(opened, state_.now);
    }
  }
  for (auto& [to, share] : shares) out.emplace_back(assign{to, shelf_.newest(), std::move(share), shares_.begin(to)});
  schedule_orphan_timeout(out);
}

/// Reassigns an orphaned task to its client's current aggregator.
void server_machine::assign_open_task(open_task& task, server_effects& out) {
  const auto to = roster_->route(task.id.client);
  if (!to) return tasks_.orphan(task, state_.now);
  const auto process = roster_->instance(task.id.client);
  const auto longest = from_seconds(e_.settings.network->task_timeout);
  if (tasks_.has_lost_holder(task.id.client, process) || task.started_at + longest <= state_.now ||
      secure_.is_excluded(task.id))
    return settle_here(task_id(task.id), outcome::dropped, drop_stage::train);
  if (task.closed) return settle_here(task_id(task.id), task.surplus ? outcome::surplus : outcome::late, {});
  if (!shares_.is_under_way() || shares_.is_closing(*to)) {
    // When the next version begins, or the aggregator's next share.
    tasks_.orphan(task, state_.now);
    return tasks_.await_share(task.id.client);
  }
  tasks_.assign(task, *to, process);
  const auto& start = shelf_.model(task.id.version);
  if (task.id.version == state_.version) {
    out.emplace_back(assign{*to, start, {task.id}, shares_.begin(*to)});
    return;
  }
  if (shares_.begin(*to)) out.emplace_back(assign{*to, shelf_.newest(), {}, true});
  out.emplace_back(assign{*to, start, {task.id}, false});
}

/// Those that waited for a share to begin.
void server_machine::assign_waiting_tasks(server_effects& out) {
  for (const auto client : tasks_.take_awaiting_share())
    if (auto* const task = tasks_.find(client); task != nullptr && task->aggregator == nowhere)
      assign_open_task(*task, out);
  schedule_orphan_timeout(out);
}

/// Settles a task by decision of the server.
void server_machine::settle_here(const task_id& id, outcome what, drop_stage stage) {
  settlement one;
  one.id = id;
  one.what = what;
  one.stage = stage;
  settle(tasks_.find(id)->aggregator, one);
}

server_effects server_machine::on_attached(std::uint32_t aggregator, std::uint32_t first, std::uint32_t last,
                                           const std::vector<task_id>& holding, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  const std::set<task_id> all_held(holding.begin(), holding.end());
  // Before anything is given out: a client's next task starts from the private values that its last one left.
  send_held_verdicts(all_held, effects);
  const auto holds = [&](const task_id& id) {
    if (all_held.contains(id)) tasks_.set_holder(id.client, roster_->instance(id.client));
  };
  for (const auto& id : shares_.aggregated())  // in case aggregated updates are lost
    if (first <= id.client && id.client <= last && !tasks_.contains(id.client)) holds(id);
  for (const auto& task : tasks_.between(first, last)) {
    holds(task.id);
    if (task.aggregator == nowhere)
      assign_open_task(*tasks_.find(task.id), effects);
    else if (task.aggregator != aggregator && tasks_.withdraw(task.id))
      effects.emplace_back(withdraw{task.aggregator, {task.id}});
  }
  request_shares_again(first, last, all_held, effects);
  after_settling(effects);
  if (!is_async() && !stopping_ && cohort_.stop_waiting()) {
    cohort_.restart();
    select_clients(effects);
  }
  return effects;
}

/// Says what became of tasks that a node holds still, unless it will hear of them anyway.
void server_machine::send_held_verdicts(const std::set<task_id>& holding, server_effects& out) {
  const auto& aggregated = shares_.aggregated();
  const std::set<task_id> undecided(aggregated.begin(), aggregated.end());
  std::vector<task_id> ended;
  for (const auto& id : holding)
    if (!tasks_.contains(id) && !undecided.contains(id)) ended.push_back(id);
  auto held = verdicts_.judge(ended, state_.run, *state_.ledger);
  if (commits_after_ack())
    for (auto& [version, tasks] : held.unsaved) out.emplace_back(taken{version, std::move(tasks)});
  if (!held.durable.empty()) out.emplace_back(acknowledge{state_.version, std::move(held.durable)});
}

server_effects server_machine::on_withdrawn(std::uint32_t aggregator, const std::vector<task_id>& tasks,
                                            virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  for (const auto& id : tasks) {
    auto* const task = tasks_.find(id);
    if (task == nullptr || task->aggregator != aggregator) continue;
    tasks_.give_back(*task);
    assign_open_task(*task, effects);
  }
  schedule_orphan_timeout(effects);
  after_settling(effects);
  return effects;
}

/// These updates of an aggregator's share are lost: the counts are restored as if it had not reported them.
void server_machine::remove_updates(std::uint32_t aggregator, const std::set<task_id>& gone) {
  for (const auto& lost : shares_.remove(aggregator, gone)) {
    --state_.counts.clients_trained;
    state_.counts.examples -= lost.examples;
    record_.report().examples -= lost.examples;
    const open_task task{lost.id, aggregator, state_.now, shares_.is_closing() && !is_async(), false};
    if (!is_async() && !task.closed) shares_.reopen_task();
    open(task);
    tasks_.lose_update(lost.id.client, state_.now);
  }
}

/// Orphans the open tasks of an aggregator.
void server_machine::reassign(const std::vector<task_id>& tasks, server_effects& out) {
  for (const auto& id : tasks) {
    auto& task = *tasks_.find(id);
    tasks_.give_back(task);
    assign_open_task(task, out);
  }
  schedule_orphan_timeout(out);
  send_declines(out);
}

server_effects server_machine::on_tasks_lost(std::uint32_t aggregator, const tasks_lost& lost, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  std::set<task_id> tasks(lost.folded.begin(), lost.folded.end());
  // What is in a partial that arrived is not lost, whatever is said.
  if (shares_.is_awaited(aggregator)) remove_updates(aggregator, tasks);
  tasks.insert(lost.open.begin(), lost.open.end());
  std::vector<task_id> gone;
  for (const auto& id : tasks)
    if (const auto* const task = tasks_.find(id); task != nullptr && task->aggregator == aggregator) gone.push_back(id);
  std::ranges::sort(gone, {}, &task_id::client);
  reassign(gone, effects);
  after_settling(effects);
  return effects;
}

server_effects server_machine::on_aggregator_lost(std::uint32_t aggregator, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  if (shares_.is_awaited(aggregator)) {
    remove_updates(aggregator, shares_.reported_tasks(aggregator));
    shares_.lose(aggregator);
  }
  reassign(tasks_.tasks_with(aggregator), effects);
  if (!is_async()) assign_waiting_tasks(effects);  // for its share, and reached elsewhere now
  if (shares_.is_open() && shares_.is_closing() && shares_.all_merged() && !secure_.is_masked())
    close_version(effects);
  else
    after_settling(effects);
  return effects;
}

void server_machine::schedule_orphan_timeout(server_effects& out) {
  if (!tasks_.begin_timeout()) return;
  const auto longest = from_seconds(e_.settings.network->heartbeat + e_.settings.network->timeout);
  out.emplace_back(timer{timer_kind::orphaned, state_.version, state_.now + longest});
}

/// Clients that did not come back in time have dropped out.
void server_machine::drop_expired_orphans(server_effects& out) {
  tasks_.end_timeout();
  const auto longest = from_seconds(e_.settings.network->heartbeat + e_.settings.network->timeout);
  const bool every_task = waits_for_every_task() && !stopping_;
  for (const auto& [client, task] : tasks_.lost_clients()) {
    const auto expected = every_task ? roster_->expected_until(client) : 0;
    if ((expected > task.since ? expected : task.since + longest) > state_.now) continue;
    const auto id = tasks_.find(client)->id;
    explain_drop(id, drop_cause::deadline);
    settle_here(id, outcome::dropped, task.stage);
  }
  schedule_orphan_timeout(out);
  after_settling(out);
}

}  // namespace furlong::federated::protocol
