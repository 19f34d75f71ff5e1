#include "federated/protocol/node_machine.hpp"

#include <algorithm>

namespace furlong::federated::protocol {

namespace {

constexpr std::size_t most_models = 4;  // of a session, in addition to those that tasks hold

}  // namespace

node_machine::node_machine(std::string home, std::string software, client_range clients, std::uint64_t instance)
    : server_address_(std::move(home)), software_(std::move(software)), clients_(clients), instance_(instance) {}

node_effects node_machine::start() { return reconnect(server_address_); }

node_effects node_machine::reconnect(const std::string& address) {
  address_ = address;
  return {connect{address}};
}

node_effects node_machine::on_connected() {
  connected_ = true;
  hello content{software_, clients_, run_ ? run_->run : 0, {}, avoid_, instance_, {}, claim_};
  for (const auto& [id, task] : tasks_) content.holding.push_back(id);
  std::ranges::sort(content.holding, {}, [](const task_id& id) { return std::pair(id.client, id); });
  return {say_hello{std::move(content)}};
}

node_effects node_machine::on_disconnected() {
  if (stopped_) return {};
  // The server knows which gateways there are. One that failed is not to be sent to again at once.
  if (address_ != server_address_ && !(connected_ && welcomed_ && draining_)) avoid_ = address_;
  connected_ = welcomed_ = false;
  models_.clear();
  for (auto& [id, task] : tasks_) task.wanted = false;
  if (draining_) {
    stopped_ = true;
    return {stop_node{leaving_ ? "drained" : "the session ended while draining"}};
  }
  return reconnect(server_address_);
}

node_effects node_machine::on_redirect(const redirect& to) {
  node_effects effects{close_session{}};
  connected_ = welcomed_ = false;
  models_.clear();
  for (auto& [id, task] : tasks_) task.wanted = false;
  address_ = to.address;
  effects.emplace_back(connect{to.address});
  return effects;
}

node_effects node_machine::on_welcome(const welcome& got) {
  node_effects effects;
  avoid_.clear();
  const bool same = run_ && run_->run == got.run && run_->start_id == got.start_id && run_->history == got.history &&
                    run_->scenario == got.scenario && run_->kernel_level == got.kernel_level;
  if (!same) drop_stale_incarnations(got, effects);
  run_ = got;
  welcomed_ = true;
  if (same) {
    effects.emplace_back(cover{got.covered});
    if (opening_ == 0) effects.emplace_back(say_ready{got.run});
  } else {
    ++opening_;
    effects.emplace_back(open_run{got});
  }
  return effects;
}

/// Updates of another run, or of a life of this one that was cut off before them.
void node_machine::drop_stale_incarnations(const welcome& got, node_effects& out) {
  const bool goes_on = run_ && run_->run == got.run && run_->start_id == got.start_id &&
                       got.history.continues(run_->history);  // else the server runs on a copy and does not know them
  const auto life = goes_on ? run_->history.life() : 0;
  for (auto at = tasks_.begin(); at != tasks_.end();) {
    const bool counts = goes_on && at->first.run == got.run && got.history.contains(life, at->first.version);
    if (counts) {
      ++at;
      continue;
    }
    // The result of a client that is still training will be ignored.
    if (at->second.at == stage::done) out.emplace_back(release{at->first, false});
    at = tasks_.erase(at);
  }
}

node_effects node_machine::on_run_opened(const std::vector<task_id>& pending) {
  node_effects effects;
  if (--opening_ > 0) return effects;  // another life of the run is opening
  bool unlisted = false;               // in this session's hello
  for (const auto& id : pending)
    unlisted |= tasks_.try_emplace(id, held_task{stage::done, false, nullptr, true}).second;
  if (connected_ && unlisted && !draining_) return on_redirect({address_});
  if (welcomed_) effects.emplace_back(say_ready{run_->run});
  for (const auto& [id, task] : std::map(tasks_)) start_next(id.client, effects);
  return effects;
}

void node_machine::on_broadcast(broadcast_ptr from) {
  models_.push_back(std::move(from));
  if (models_.size() > most_models) models_.pop_front();
}

broadcast_ptr node_machine::model(std::uint64_t version) const {
  const auto at = std::ranges::find(models_, version, [](const auto& one) { return one->version; });
  return at == models_.end() ? nullptr : *at;
}

result<node_effects> node_machine::on_assignment(const assignment& given) {
  node_effects effects;
  if (draining_) return effects;
  const auto place = std::string("assignment on version ") + std::to_string(given.version);
  if (!run_ || given.run != run_->run) return fail(error::kind::runtime, place, "is of another run");
  const auto from = model(given.version);
  for (const auto& who : given.tasks) {
    const task_id id{given.run, given.version, who.client, who.attempt};
    if (!clients_.contains(who.client))
      return fail(error::kind::runtime, place, "is for client " + std::to_string(who.client) + ", which is not here");
    const auto at = tasks_.find(id);
    if (at != tasks_.end() && !at->second.restored) {
      at->second.wanted = true;
      if (at->second.at == stage::done) effects.emplace_back(send_update{id});
      continue;
    }
    if (!from) return fail(error::kind::runtime, place, "names a model that was not sent");
    if (at != tasks_.end()) effects.emplace_back(release{id, false});
    forget_earlier_attempts(id, effects);
    tasks_[id] = {stage::queued, true, from};
    start_next(who.client, effects);
  }
  return effects;
}

/// At most one attempt at a version is aggregated: a new attempt voids the earlier ones.
void node_machine::forget_earlier_attempts(const task_id& id, node_effects& out) {
  auto at = tasks_.lower_bound({id.run, id.version, id.client, 0});
  while (at != tasks_.end() && at->first < id) {
    if (at->second.at == stage::done) out.emplace_back(release{at->first, false});
    at = tasks_.erase(at);
  }
}

/// Starts a client's oldest waiting task if the client has none in progress.
void node_machine::start_next(std::uint32_t client, node_effects& out) {
  if (opening_ > 0 || busy_.contains(client)) return;
  for (auto& [id, task] : tasks_) {
    if (id.client != client || task.at != stage::queued) continue;
    task.at = stage::training;
    busy_.insert(client);
    training_job job;
    job.id = id;
    job.from = task.from;
    out.emplace_back(std::move(job));
    return;
  }
}

node_effects node_machine::on_trained(const task_id& task) {
  node_effects effects;
  busy_.erase(task.client);
  if (const auto at = tasks_.find(task); at == tasks_.end() || at->second.at != stage::training) {
    effects.emplace_back(release{task, false});
  } else {
    at->second.at = stage::done;
    at->second.from.reset();
    if (at->second.wanted) effects.emplace_back(send_update{task});
  }
  start_next(task.client, effects);
  leave_if_drained(effects);
  return effects;
}

node_effects node_machine::on_failed(const task_id& task) {
  node_effects effects;
  busy_.erase(task.client);
  // The work may belong to an earlier life, in which another task had the same id.
  if (const auto at = tasks_.find(task); at != tasks_.end() && at->second.at == stage::training) {
    if (at->second.wanted) effects.emplace_back(send_failure{task});
    tasks_.erase(at);
  }
  start_next(task.client, effects);
  leave_if_drained(effects);
  return effects;
}

node_effects node_machine::on_unmaskable(const task_id& task) {
  node_effects effects;
  const auto at = tasks_.find(task);
  if (at == tasks_.end()) return effects;
  if (at->second.wanted) effects.emplace_back(send_failure{task});
  // The result of a client that is still training will be ignored.
  if (at->second.at == stage::done) effects.emplace_back(release{task, false});
  tasks_.erase(at);
  leave_if_drained(effects);
  return effects;
}

bool node_machine::wants(const task_id& task) const {
  const auto at = tasks_.find(task);
  return at != tasks_.end() && at->second.wanted;
}

node_effects node_machine::on_verdicts(const verdicts& content) {
  node_effects effects;
  for (const auto& one : content.each) {
    const auto at = tasks_.find(one.task);
    if (at == tasks_.end()) continue;
    const bool done = at->second.at == stage::done;
    if (one.what == verdict_kind::taken) {
      if (done) effects.emplace_back(keep{one.task, content.version});
      continue;
    }
    // A task in progress that is no longer wanted: its result will be ignored.
    if (done) effects.emplace_back(release{one.task, one.what == verdict_kind::durable});
    tasks_.erase(at);
  }
  leave_if_drained(effects);
  return effects;
}

node_effects node_machine::on_checkpointed(std::uint64_t version) {
  if (!run_) return {};
  run_->covered = version;
  return {cover{version}};
}

node_effects node_machine::on_close_notice(const close_notice& said) {
  if (!said.final) return {};  // the session will end
  stopped_ = true;
  return {close_session{}, stop_node{said.why, said.unwanted, said.unwanted && !welcomed_, said.remedy, said.failed}};
}

bool node_machine::counts(const task_id& task) const {
  const auto at = tasks_.find(task);
  return at != tasks_.end() && at->second.at == stage::training;
}

std::size_t node_machine::at_work() const {
  return static_cast<std::size_t>(
      std::ranges::count_if(tasks_, [](const auto& of) { return of.second.at != stage::done; }));
}

node_effects node_machine::drain() {
  node_effects effects;
  if (draining_ || !welcomed_) {
    stopped_ = true;
    return {close_session{}, stop_node{"stopped"}};
  }
  draining_ = true;
  leave_if_drained(effects);
  return effects;
}

/// Updates without a verdict may be lost with this node: the server will select other clients. What was sent must
/// arrive, however slow the link: so the gateway ends the session.
void node_machine::leave_if_drained(node_effects& out) {
  if (!draining_ || leaving_ || stopped_ || at_work() > 0) return;
  leaving_ = true;
  out.emplace_back(send_close_notice{"drained"});
}

}  // namespace furlong::federated::protocol
