#include "federated/protocol/server_machine.hpp"

#include <algorithm>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/rounds/is_over.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"

namespace furlong::federated::protocol {

server_machine::server_machine(const experiment& e, server_state state, roster* who)
    : e_(e),
      state_(std::move(state)),
      roster_(who),
      routed_(who != nullptr && who->routes()),
      began_(state_.version),
      optimizer_(*e.settings.server, e.parts.shared),
      selector_(e, state_, tasks_, who, waits_for_every_task()),
      windows_(e.participants->training(), who),
      record_(e.settings),
      memory_(state_.counts) {
  optimizer_.restore(state_.optimizer);
  reset_for_evaluation(*e.settings.evaluation, state_);
  for (auto& [version, start] : std::exchange(state_.started_from, {}))
    shelf_.restore(
        std::make_shared<const broadcast>(broadcast{state_.run, version, std::move(start.model), {}, start.limits}));
  for (auto task : std::exchange(state_.open, {})) {
    if (routed_) {
      task.aggregator = nowhere;  // of the life before
      tasks_.lose_update(task.id.client, state_.now);
      tasks_.set_holder(task.id.client, 0);  // unknown
    } else {
      task.aggregator %= e.settings.topology->aggregators;  // there may be fewer in this life
    }
    open(task);
  }
}

server_machine::~server_machine() = default;

bool server_machine::is_async() const { return how().mode == participation_mode::async; }

server_state server_machine::snapshot() const {
  auto copy = state_;
  copy.open = tasks_.by_client();
  if (routed_) memory_.restore_closed(copy);
  complete(copy);
  return copy;
}

void server_machine::remember_round() {
  memory_.begin_round(state_, tasks_.by_client());
  state_.ledger->remember();
}

server_state server_machine::before_round() const {
  auto copy = state_;
  memory_.restore_beginning(copy);
  copy.ledger = std::make_shared<participation_ledger>(state_.ledger->as_remembered());
  complete(copy);
  return copy;
}

/// Adds what follows from the tasks in it. The models of tasks that ended in this round are still there.
void server_machine::complete(server_state& copy) const {
  copy.optimizer = optimizer_.state();
  std::ranges::sort(copy.open, {}, [](const open_task& task) { return task.id.client; });
  for (const auto& task : copy.open) {
    if (!needs_model(task) || copy.started_from.contains(task.id.version)) continue;
    // None: a closed task in a checkpoint of a simulation, which keeps no model for it.
    if (const auto& start = shelf_.model(task.id.version))
      copy.started_from[task.id.version] = {start->model, start->limits};
  }
}

bool server_machine::is_over() const { return federated::is_over(e_.settings, state_); }

server_effects server_machine::start() {
  if (is_over() || state_.evaluation_due) return {evaluate{}};
  return {proceed{}};
}

void server_machine::publish_model() {
  auto model = std::make_shared<const broadcast>(make_broadcast(e_, state_));
  const auto task_bytes = sent_bytes(e_, *model);
  shelf_.publish(std::move(model), task_bytes, memory_.ended());  // snapshot() shows those tasks as open
}

open_task& server_machine::open(const open_task& task) {
  auto& opened = tasks_.open(task);
  selector_.on_task(task.id.client);
  if (needs_model(task)) shelf_.need(task.id.version);
  return opened;
}

/// True if a task's model is still needed for training or sending. A closed task's model is not if its client keeps
/// nothing: otherwise each version with a straggler would keep its model in memory.
bool server_machine::needs_model(const open_task& task) const {
  return !task.closed || routed_ || trains_if_discarded(e_.settings);
}

server_effects server_machine::on_proceed(virtual_time now) {
  if (memory_.remembers())
    remember_round();
  else
    state_.ledger->forget();
  state_.now = std::max(state_.now, now);
  if (roster_ != nullptr) roster_->on_round(state_.version, state_.now);
  sum_ = make_accumulator(e_, state_.reference);
  publish_model();
  record_.report().began_at = state_.now;
  cohort_.begin_round(state_.now);
  selector_.begin_round();
  const auto connected = routed_ ? roster_->aggregators() : std::vector<std::uint32_t>{};
  shares_.begin_round(connected.empty() ? 0 : std::size_t{connected.back()} + 1);
  secure_.reset();
  server_effects effects;
  if (is_async()) {
    cohort_.set_goal(how().buffer);
    if (routed_)
      begin_shares(connected, effects);
    else
      assign_tasks({}, true, effects);
    if (!refill(effects)) retry_selection(effects, never);
    begin_secure_buffer(effects);
  } else {
    select_clients(effects);
  }
  return effects;
}

/// Tasks for these clients, written into the books.
std::vector<task_id> server_machine::create_tasks(const std::vector<std::uint32_t>& clients) {
  std::vector<task_id> tasks;
  tasks.reserve(clients.size());
  for (const auto client : clients) {
    const auto& of = state_.ledger->select(client, state_.version, ++state_.counts.selected);
    tasks.push_back({state_.run, state_.version, client, of.attempt});
  }
  cohort_.stop_awaiting_first();
  selector_.on_selected(clients);
  auto& report = record_.report();
  report.selected += tasks.size();
  report.cohort.insert(report.cohort.end(), clients.begin(), clients.end());
  report.bytes_down += tasks.size() * shelf_.task_bytes();
  return tasks;
}

void server_machine::assign_tasks(const std::vector<task_id>& tasks, bool begins, server_effects& out) {
  if (routed_) return assign_by_route(tasks, out);
  const std::size_t most = e_.settings.topology->aggregators;
  if (begins) shares_.begin_all(is_async() ? most : std::clamp<std::size_t>(tasks.size(), 1, most));
  const auto aggregators = shares_.aggregators();
  std::vector<std::vector<task_id>> shares(aggregators);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // In an asynchronous run tasks are created one by one: the ordinal distributes them.
    const auto ordinal = is_async() ? (*state_.ledger)[tasks[i].client].last_selection : i;
    const auto aggregator = static_cast<std::uint32_t>(ordinal % aggregators);
    shares[aggregator].push_back(tasks[i]);
    if (!is_async()) shares_.add_client(aggregator, tasks[i].client);
    open({tasks[i], aggregator, state_.now, false, false});
  }
  for (std::size_t a = 0; a < aggregators; ++a)
    if (begins || !shares[a].empty())
      out.emplace_back(assign{static_cast<std::uint32_t>(a), shelf_.newest(), std::move(shares[a]), begins});
}

}  // namespace furlong::federated::protocol
