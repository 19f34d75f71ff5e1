#include "federated/protocol/server_machine.hpp"

#include <algorithm>
#include <cmath>

#include "federated/client/client_work.hpp"
#include "federated/participation/policy.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/protocol/is_over.hpp"
#include "federated/round.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/training.hpp"
#include "federated/staleness.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::uint32_t most_attempts = 4;  // of a client in one version
// If no client is connected the server selects again after growing intervals and finally abandons the round: no run
// waits forever.
constexpr virtual_time longest_retry = 3600 * microseconds_per_second;

}  // namespace

server_machine::server_machine(const experiment& e, server_state state, roster* who)
    : e_(e),
      state_(std::move(state)),
      roster_(who),
      optimizer_(*e.settings.server, e.parts.shared),
      began_(state_.version),
      routed_(who != nullptr && who->routes()),
      reported_(state_.counts) {
  optimizer_.restore(state_.optimizer);
  reset_for_evaluation(*e.settings.evaluation, state_);
  policy_ = make_policy(e, *state_.ledger);
  for (auto& [version, from] : std::exchange(state_.started_from, {})) {
    broadcasts_[version].from =
        std::make_shared<const broadcast>(broadcast{state_.run, version, std::move(from.model), {}, from.limits});
  }
  for (auto task : std::exchange(state_.open, {})) {
    if (routed_) {
      task.aggregator = nowhere;  // of the life before
      orphaned_[task.id.client] = {state_.now, drop_stage::upload};
      assignee_[task.id.client] = 0;  // unknown
    } else {
      task.aggregator %= e.settings.topology->aggregators;  // there may be fewer in this life
    }
    open(task);
  }
}

server_machine::~server_machine() = default;

bool server_machine::is_async() const { return how().mode == participation_mode::async; }

std::vector<open_task> server_machine::open_tasks() const {
  std::vector<open_task> tasks;
  tasks.reserve(open_.size());
  for (const auto& [client, task] : open_) tasks.push_back(task);
  std::ranges::sort(tasks, {}, [](const open_task& task) { return task.id.client; });
  return tasks;
}

server_state server_machine::snapshot() const {
  auto copy = state_;
  copy.open = open_tasks();
  if (routed_) {
    copy.counts = reported_;
    copy.open.insert(copy.open.end(), ended_since_.begin(), ended_since_.end());
  }
  complete(copy);
  return copy;
}

server_state server_machine::before_round() const {
  auto copy = state_;
  copy.now = before_.now;
  copy.counts = before_.counts;
  copy.open = before_.open;
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
    if (const auto& from = broadcasts_.at(task.id.version).from)
      copy.started_from[task.id.version] = {from->model, from->limits};
  }
}

bool server_machine::is_over() const { return protocol::is_over(e_.settings, state_); }

server_effects server_machine::start() {
  if (is_over() || state_.evaluation_due) return {evaluate{}};
  return {proceed{}};
}

/// The newest model is the one to work on. Earlier ones stay while open tasks started from them.
void server_machine::publish_model() {
  if (current_) unused_.push_back(current_->version);
  for (const auto version : std::exchange(unused_, {})) {
    const auto at = broadcasts_.find(version);
    if (at == broadcasts_.end() || at->second.open > 0) continue;
    if (std::ranges::find(ended_since_, version, [](const open_task& task) { return task.id.version; }) !=
        ended_since_.end())
      unused_.push_back(version);  // snapshot() shows the task as open
    else
      broadcasts_.erase(at);
  }
  current_ = std::make_shared<const broadcast>(make_broadcast(e_, state_));
  task_bytes_ = sent_bytes(e_, *current_);
  broadcasts_[state_.version].from = current_;
}

void server_machine::open(const open_task& task) {
  open_[task.id.client] = task;
  if (needs_model(task)) ++broadcasts_[task.id.version].open;
}

/// True if a task's model is still needed for training or sending. A closed task's model is not if its client keeps
/// nothing: otherwise each version with a straggler would keep its model in memory.
bool server_machine::needs_model(const open_task& task) const {
  return !task.closed || routed_ || trains_if_discarded(e_.settings);
}

/// Releases the model of a task that no longer needs it.
void server_machine::release_model(std::uint64_t version) {
  if (--broadcasts_.at(version).open == 0) unused_.push_back(version);
}

server_effects server_machine::on_proceed(virtual_time now) {
  if (remembers_) {
    before_ = {state_.now, state_.counts, open_tasks()};
    state_.ledger->remember();
  }
  state_.now = std::max(state_.now, now);
  if (roster_ != nullptr) roster_->on_round(state_.version, state_.now);
  sum_ = make_accumulator(e_, state_.reference);
  publish_model();
  round_began_ = report_.began_at = state_.now;
  folded_.clear();
  merged_.clear();
  selections_ = 0;
  if (std::exchange(probes_, 0) > 0)
    for (auto* of : {&probed_, &reached_}) std::fill(of->begin(), of->end(), false);
  next_selection_ = never;
  open_in_round_ = 0;
  shares_open_ = false;
  closing_ = all_ended_ = prolonged_ = unmasking_ = opened_ = false;
  secure_.reset();
  letters_.clear();
  excluded_.clear();
  server_effects effects;
  if (routed_) begin_round_by_route(effects);
  if (is_async()) {
    goal_ = how().buffer;
    if (!routed_) assigned_.assign(e_.settings.topology->aggregators, {});
    if (!routed_) assign_tasks({}, true, effects);
    if (!refill(effects)) retry_selection(effects, never);
    begin_secure_buffer(effects);
  } else {
    select_clients(effects);
  }
  return effects;
}

bool server_machine::is_eligible(std::uint32_t client) {
  const auto& of = (*state_.ledger)[client];
  // At most one update per client and version. An asynchronous run may select a client that dropped out again, a few
  // times.
  const auto asked = of.asked_version == state_.version + 1;
  if (asked && (!is_async() || of.attempt + 1 >= most_attempts)) return false;
  if (is_async() && of.reported_version == state_.version + 1) return false;
  if (open_.contains(client)) return false;
  if (!of.rested(state_.version, how().min_separation)) return false;
  if (how().reconnect_most > 0 && of.asked_version != 0) {
    random_stream stream(e_.settings.seed, purpose::reconnect, of.asked_version, client, of.attempt);
    const double least = how().reconnect_least;
    const double wait = least + (how().reconnect_most - least) * static_cast<double>(stream.uniform());
    if (state_.now < of.ended_at + from_seconds(wait)) {
      paced_ = true;
      return false;
    }
  }
  if (roster_ == nullptr) return true;
  const bool there = roster_->reachable(client, state_.now, state_.version) ||
                     (waits_for_every_task() && roster_->expected_until(client) > state_.now);
  note_probe(client, there);
  return there;
}

/// Counts a client once per round, however often it is checked.
void server_machine::note_probe(std::uint32_t client, bool there) {
  ++probes_;
  if (client >= probed_.size())
    for (auto* of : {&probed_, &reached_}) of->resize(std::max(client, e_.participants->training().back()) + 1);
  if (!probed_[client]) ++report_.probed;
  probed_[client] = true;
  if (!there || reached_[client]) return;
  ++report_.available;
  reached_[client] = true;
}

std::vector<std::uint32_t> server_machine::choose(std::size_t count) {
  selection wanted;
  wanted.count = static_cast<std::uint32_t>(std::min(count, e_.participants->training().size()));
  wanted.round = state_.version;
  wanted.ordinal = state_.counts.selected;
  paced_ = false;
  wanted.eligible = [this](std::uint32_t client) { return is_eligible(client); };
  return policy_->choose(wanted, *state_.ledger);
}

void server_machine::retry_selection(server_effects& out, virtual_time at_latest) {
  const auto retry = std::max<virtual_time>(from_seconds(how().retry), 1);
  const auto after = std::min(retry << std::min(selections_, 20U), std::max(longest_retry, retry));
  ++selections_;
  next_selection_ = std::min(state_.now + after, at_latest);
  out.emplace_back(timer{timer_kind::retry_selection, state_.version, next_selection_});
}

/// Selects a cohort of a policy that draws its size: all of its clients are awaited.
void server_machine::draw_cohort(server_effects& out) {
  const auto chosen = choose(how().per_round);
  if (!chosen.empty()) return assign_cohort(chosen, chosen.size(), out);
  goal_ = 1;
  close_version(out);
}

void server_machine::select_clients(server_effects& out) {
  if (how().policy.traits.draws_cohort) return draw_cohort(out);
  const auto goal = how().per_round;
  const auto wanted = std::min(static_cast<std::size_t>(std::ceil(goal * how().over_selection - 1e-9)),
                               e_.participants->training().size());
  const auto timeout = round_began_ + from_seconds(how().selection_timeout);
  const auto chosen = choose(wanted);
  if (chosen.size() < wanted && state_.now < timeout) return retry_selection(out, timeout);
  if (chosen.size() < std::max<std::size_t>(how().min_reports, 1)) {
    // With a timeout the wait ends here; without one, wait for the minimum of a round. If waiting does not help, select
    // once more: time must pass also in abandoned rounds.
    const auto at_latest = round_began_ + longest_wait;
    const bool may_succeed = paced_ || selections_ == 0 || (roster_ != nullptr && roster_->waiting_helps());
    const bool waits = how().selection_timeout == 0 && roster_ != nullptr && may_succeed;
    if (waits && state_.now < at_latest) return retry_selection(out, at_latest);
    goal_ = 1;
    return close_version(out);
  }
  assign_cohort(chosen, goal, out);
}

/// Gives these clients their tasks; `goal` reports close the round.
void server_machine::assign_cohort(const std::vector<std::uint32_t>& chosen, std::size_t goal, server_effects& out) {
  goal_ = std::min<std::size_t>(goal, chosen.size());
  const auto tasks = create_tasks(chosen);
  const auto aggregators = std::clamp<std::size_t>(tasks.size(), 1, e_.settings.topology->aggregators);
  if (!routed_) assigned_.assign(aggregators, {});
  open_in_round_ = tasks.size();
  begin_secure_round(tasks, out);
  assign_tasks(tasks, true, out);
  if (how().deadline > 0)
    out.emplace_back(timer{timer_kind::deadline, state_.version, state_.now + from_seconds(how().deadline)});
}

/// Asynchronous: creates tasks up to the configured number. False if there were too few clients.
bool server_machine::refill(server_effects& out) {
  if (secure_) return true;  // when the sum is there
  const auto busy = open_.size() - waiting_.size();
  const std::size_t wanted = how().concurrency > busy ? how().concurrency - busy : 0;
  if (wanted == 0) return true;
  const auto chosen = choose(wanted);
  if (!chosen.empty()) assign_tasks(create_tasks(chosen), false, out);
  return chosen.size() == wanted;
}

/// Tasks for these clients, written into the books.
std::vector<task_id> server_machine::create_tasks(const std::vector<std::uint32_t>& clients) {
  std::vector<task_id> tasks;
  tasks.reserve(clients.size());
  for (const auto client : clients) {
    const auto& of = state_.ledger->select(client, state_.version, ++state_.counts.selected);
    tasks.push_back({state_.run, state_.version, client, of.attempt});
  }
  policy_->asked(clients);
  report_.selected += tasks.size();
  report_.bytes_down += tasks.size() * task_bytes_;
  return tasks;
}

void server_machine::assign_tasks(const std::vector<task_id>& tasks, bool begins, server_effects& out) {
  if (routed_) return assign_by_route(tasks, out);
  const std::size_t aggregators = assigned_.size();
  std::vector<std::vector<task_id>> shares(aggregators);
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    // In an asynchronous run tasks are created one by one: the ordinal distributes them.
    const auto to = (is_async() ? (*state_.ledger)[tasks[i].client].last_selection : i) % aggregators;
    shares[to].push_back(tasks[i]);
    if (!is_async()) assigned_[to].push_back(tasks[i].client);
    open({tasks[i], static_cast<std::uint32_t>(to), state_.now, false, false});
  }
  if (begins) {
    answered_.assign(aggregators, false);
    reported_folds_.assign(aggregators, {});
    pending_ = aggregators;
    shares_open_ = true;
  }
  for (std::size_t a = 0; a < aggregators; ++a)
    if (begins || !shares[a].empty())
      out.emplace_back(assign{static_cast<std::uint32_t>(a), current_, std::move(shares[a]), begins});
}

}  // namespace furlong::federated::protocol
