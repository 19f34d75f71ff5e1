// Tasks of clients that are reached through certain aggregators, which come and go.
#include <algorithm>

#include "federated/protocol/server_machine.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

void server_machine::begin_round_by_route(server_effects& out) {
  const auto there = who_->aggregators();
  const std::size_t numbers = there.empty() ? 0 : std::size_t{there.back()} + 1;
  begun_.assign(numbers, false);
  asked_.assign(numbers, false);
  answered_.assign(numbers, true);
  told_.assign(numbers, {});
  pending_ = 0;
  if (!is_async()) return;
  dealt_out_ = true;
  // Updates of earlier versions may be on their way to any of them.
  for (const auto aggregator : there) {
    static_cast<void>(begin_share(aggregator));
    out.emplace_back(assign{aggregator, current_, {}, true});
  }
  place_waiting(out);
}

/// Whether a share of this round begins now at the aggregator: its first, or another one after one that was merged.
bool server_machine::begin_share(std::uint32_t aggregator) {
  if (aggregator >= begun_.size()) {
    begun_.resize(aggregator + 1, false);
    asked_.resize(aggregator + 1, false);
    answered_.resize(aggregator + 1, true);
    told_.resize(aggregator + 1);
  }
  if (begun_[aggregator] && !answered_[aggregator]) return false;
  begun_[aggregator] = true;
  answered_[aggregator] = asked_[aggregator] = false;
  ++pending_;
  return true;
}

bool server_machine::waits_for_every_task() const {
  return routed_ && !is_async() && how().deadline == 0 && how().over_selection <= 1.0;
}

/// Whether an aggregator was told to close its share, and has not answered.
bool server_machine::is_closing(std::uint32_t aggregator) const {
  return aggregator < asked_.size() && asked_[aggregator] && !answered_[aggregator];
}

/// Whether the process that was given the task is not the one that its client is reached through.
bool server_machine::lost_with_its_node(const task_id& id) const {
  const auto at = given_to_.find(id.client);
  return at != given_to_.end() && at->second != who_->instance(id.client);
}

void server_machine::deal_by_route(const std::vector<task_id>& tasks, server_effects& out) {
  dealt_out_ = true;
  std::map<std::uint32_t, std::vector<task_id>> shares;
  for (const auto& task : tasks) {
    const auto to = who_->route(task.client);
    open({task, to.value_or(nowhere), state_.now, false, false});
    if (to) {
      shares[*to].push_back(task);
      given_to_[task.client] = who_->instance(task.client);
    } else {
      given_to_.erase(task.client);
      adrift_[task.client] = {state_.now, drop_stage::download};
    }
  }
  for (auto& [to, share] : shares) out.emplace_back(assign{to, current_, std::move(share), begin_share(to)});
  wait_for_the_adrift(out);
}

/// An open task that is with nobody goes to where its client is now.
void server_machine::place(open_task& task, server_effects& out) {
  const auto to = who_->route(task.id.client);
  if (!to) return cast_adrift(task);
  const auto longest = from_seconds(e_.settings.network->task_timeout);
  if (lost_with_its_node(task.id) || task.started_at + longest <= state_.now)
    return settle_here(task_id(task.id), outcome::dropped, drop_stage::train);
  if (task.closed) return settle_here(task_id(task.id), task.surplus ? outcome::surplus : outcome::late, {});
  if (!dealt_out_ || closing_ || is_closing(*to)) {  // when the next version begins, or the aggregator's next share
    cast_adrift(task);
    placed_next_.insert(task.id.client);
    return;
  }
  adrift_.erase(task.id.client);
  task.aggregator = *to;
  given_to_[task.id.client] = who_->instance(task.id.client);
  const auto& from = broadcasts_.at(task.id.version).from;
  if (task.id.version == state_.version) {
    out.emplace_back(assign{*to, from, {task.id}, begin_share(*to)});
    return;
  }
  if (begin_share(*to)) out.emplace_back(assign{*to, current_, {}, true});
  out.emplace_back(assign{*to, from, {task.id}, false});
}

/// Those that waited for a share to begin.
void server_machine::place_waiting(server_effects& out) {
  for (const auto client : std::exchange(placed_next_, {}))
    if (const auto at = open_.find(client); at != open_.end() && at->second.aggregator == nowhere)
      place(at->second, out);
  wait_for_the_adrift(out);
}

void server_machine::cast_adrift(open_task& task) {
  task.aggregator = nowhere;
  const auto stage = given_to_.contains(task.id.client) ? drop_stage::train : drop_stage::download;
  adrift_.try_emplace(task.id.client, adrift_task{0, stage}).first->second.since = state_.now;
}

/// The server's own word on how a task ended.
void server_machine::settle_here(const task_id& id, outcome what, drop_stage stage) {
  const auto at = open_.find(id.client);
  settlement one;
  one.id = id;
  one.what = what;
  one.stage = stage;
  settle(at->second.aggregator, one);
}

server_effects server_machine::on_attached(std::uint32_t aggregator, std::uint32_t first, std::uint32_t last,
                                           const std::vector<task_id>& holding, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  const std::set<task_id> all_held(holding.begin(), holding.end());
  // Before anything is given out: a client's next task starts from the private values that its last one left.
  judge_held(all_held, effects);
  const auto holds = [&](const task_id& id) {
    if (all_held.contains(id)) given_to_[id.client] = who_->instance(id.client);
  };
  std::map<std::uint32_t, open_task> here;  // in the order of clients, whatever the order of the table
  for (const auto& [client, task] : open_)
    if (first <= client && client <= last) here.emplace(client, task);
  for (const auto& id : folded_)  // if what was folded gets lost
    if (first <= id.client && id.client <= last && !here.contains(id.client)) holds(id);
  for (const auto& [client, task] : here) {
    holds(task.id);
    if (task.aggregator == nowhere)
      place(open_.at(client), effects);
    else if (task.aggregator != aggregator && withdrawing_.insert(task.id).second)
      effects.emplace_back(withdraw{task.aggregator, {task.id}});
  }
  after_settling(effects);
  if (!is_async() && next_look_ != never && !stopping_) {  // it waits for clients
    next_look_ = never;
    looks_ = 0;
    look(effects);
  }
  return effects;
}

/// Says what became of tasks that a node holds still, unless it will hear of them anyway.
void server_machine::judge_held(const std::set<task_id>& holding, server_effects& out) {
  const std::set<task_id> folded(folded_.begin(), folded_.end());
  acknowledge durable{state_.version, {}};
  std::map<std::uint32_t, std::vector<task_id>> superseded;
  std::map<std::uint64_t, taken> waiting;  // by version
  for (const auto& id : holding) {
    if (const auto at = open_.find(id.client); at != open_.end() && at->second.id == id) continue;
    if (folded.contains(id)) continue;
    if (const auto at = in_model_.find(id); at != in_model_.end()) {
      auto& some = waiting[at->second];
      some.version = at->second;
      some.tasks.push_back(id);
      continue;
    }
    const bool known = id.run == state_.run && id.client < state_.ledger->size();
    const std::uint64_t last = known ? (*state_.ledger)[id.client].folded_version : 0;
    // What a client did before its last update in a checkpoint may be in it too: nobody remembers. Its private values
    // are those of the last, so nothing is lost when the earlier ones are forgotten; but not before it is durable.
    const auto later = in_model_.lower_bound({state_.run, last - 1, id.client, 0});
    const bool waits = last > id.version + 1 && later != in_model_.end() && later->first.version + 1 == last &&
                       later->first.client == id.client;
    (waits ? superseded[id.client] : last == id.version + 1 ? durable.tasks : over_).push_back(id);
  }
  // A hello lists all that a node holds. Of what it may have made up no more is kept than this.
  constexpr std::ptrdiff_t most_superseded = 64;
  for (auto& [client, tasks] : superseded) {
    if (std::ssize(tasks) > most_superseded) tasks.erase(tasks.begin(), tasks.end() - most_superseded);
    superseded_[client] = std::move(tasks);
  }
  if (clients_wait())
    for (auto& [version, some] : waiting) out.emplace_back(std::move(some));
  if (!durable.tasks.empty()) out.emplace_back(std::move(durable));
}

server_effects server_machine::on_withdrawn(std::uint32_t aggregator, const std::vector<task_id>& tasks,
                                            virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  for (const auto& id : tasks) {
    const auto at = open_.find(id.client);
    if (at == open_.end() || at->second.id != id || at->second.aggregator != aggregator) continue;
    withdrawing_.erase(id);
    at->second.aggregator = nowhere;
    place(at->second, effects);
  }
  wait_for_the_adrift(effects);
  after_settling(effects);
  return effects;
}

/// Of what an aggregator folded in its share these tasks are gone: the books are as if it had not told of them.
void server_machine::unfold(std::uint32_t aggregator, const std::set<task_id>& gone) {
  std::set<task_id> unfolded;
  std::vector<settlement> kept;
  for (auto& one : std::exchange(told_[aggregator], {})) {
    if (!gone.contains(one.id)) {
      kept.push_back(one);
      continue;
    }
    if (all_ended_) closing_ = all_ended_ = false;  // not all of them any more
    unfolded.insert(one.id);
    --state_.counts.clients_trained;
    state_.counts.examples -= one.examples;
    report_.examples -= one.examples;
    open_task task{one.id, aggregator, state_.now, closing_ && !is_async(), false};
    if (!is_async() && !task.closed) ++open_in_round_;
    open(task);
    adrift_[one.id.client] = {state_.now, drop_stage::upload};
  }
  std::erase_if(folded_, [&](const task_id& id) { return unfolded.contains(id); });
  told_[aggregator] = std::move(kept);
}

/// Open tasks that were with an aggregator, and are with nobody.
void server_machine::send_elsewhere(const std::vector<task_id>& tasks, server_effects& out) {
  for (const auto& id : tasks) {
    withdrawing_.erase(id);
    auto& task = open_.at(id.client);
    task.aggregator = nowhere;
    place(task, out);
  }
  wait_for_the_adrift(out);
  tell_over(out);
}

server_effects server_machine::on_tasks_lost(std::uint32_t aggregator, const tasks_lost& lost, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  std::set<task_id> tasks(lost.folded.begin(), lost.folded.end());
  // What is in a partial that arrived is not lost, whatever is said.
  if (aggregator < answered_.size() && !answered_[aggregator]) unfold(aggregator, tasks);
  tasks.insert(lost.open.begin(), lost.open.end());
  std::vector<task_id> gone;
  for (const auto& id : tasks)
    if (const auto at = open_.find(id.client);
        at != open_.end() && at->second.id == id && at->second.aggregator == aggregator)
      gone.push_back(id);
  std::ranges::sort(gone, {}, &task_id::client);
  send_elsewhere(gone, effects);
  after_settling(effects);
  return effects;
}

server_effects server_machine::on_aggregator_lost(std::uint32_t aggregator, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  if (aggregator < answered_.size() && !answered_[aggregator]) {
    std::set<task_id> folded;
    for (const auto& one : told_[aggregator]) folded.insert(one.id);
    unfold(aggregator, folded);
    answered_[aggregator] = true;
    --pending_;
  }
  std::vector<task_id> lost;
  for (const auto& [client, task] : open_)
    if (task.aggregator == aggregator) lost.push_back(task.id);
  std::ranges::sort(lost, {}, &task_id::client);
  send_elsewhere(lost, effects);
  if (!is_async()) place_waiting(effects);  // for its share, and reached elsewhere now
  if (closing_ && pending_ == 0 && dealt_out_)
    conclude(effects);
  else
    after_settling(effects);
  return effects;
}

void server_machine::wait_for_the_adrift(server_effects& out) {
  if (waits_for_adrift_ || adrift_.size() == placed_next_.size()) return;
  waits_for_adrift_ = true;
  const auto longest = from_seconds(e_.settings.network->heartbeat + e_.settings.network->timeout);
  out.emplace_back(timer{timer_kind::adrift, state_.version, state_.now + longest});
}

/// Clients that did not come back in time have dropped out.
void server_machine::drop_the_adrift(server_effects& out) {
  waits_for_adrift_ = false;
  const auto longest = from_seconds(e_.settings.network->heartbeat + e_.settings.network->timeout);
  const bool every_task = waits_for_every_task() && !stopping_;
  for (const auto& [client, task] : std::map(adrift_)) {
    if (placed_next_.contains(client)) continue;
    const auto expected = every_task ? who_->expected_until(client) : 0;
    if ((expected > task.since ? expected : task.since + longest) <= state_.now)
      settle_here(open_.at(client).id, outcome::dropped, task.stage);
  }
  wait_for_the_adrift(out);
  after_settling(out);
}

}  // namespace furlong::federated::protocol
