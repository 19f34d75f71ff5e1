#include "federated/simulation/timeline.hpp"

#include <algorithm>

#include "base/random.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/running.hpp"
#include "federated/simulation/scenario_events.hpp"

namespace furlong::federated {

namespace {

std::uint32_t client_count(const experiment& e) {
  const auto clients = e.participants->training();
  return clients.empty() ? 0 : clients.back() + 1;
}

/// Tasks that end at one instant come in an order that is drawn: in that of their clients, those with high numbers
/// would be surplus wherever devices are equal.
std::uint32_t draw_order(std::uint64_t seed, const task_id& task) {
  constexpr std::uint32_t apart = 1U << 23U;  // from the streams of the attempts' fates
  random_stream stream(seed, purpose::fate, static_cast<std::uint32_t>(task.version), task.client,
                       apart | task.attempt);
  return stream();
}

}  // namespace

timeline::timeline(const experiment& e, server_state start, private_store& store, const run_observer& observer,
                   add_mode mode)
    : e_(e),
      store_(store),
      observer_(observer),
      adding_(mode),
      trains_discarded_(trains_if_discarded(e.settings)),
      server_(e, start, this),
      members_(e.settings, client_count(e)),
      past_(std::move(start.simulation)),
      now_(start.now),
      happened_(e.settings.events->size(), false) {
  if (e.model->may_fail()) server_.remember_rounds();
  for (std::uint32_t a = 0; a < e.settings.topology->aggregators; ++a)
    aggregators_.emplace_back(e, a, protocol::closing::by_itself,
                              mode == add_mode::by_run ? protocol::adding::here : protocol::adding::elsewhere);
  if (e.settings.privacy->secure_aggregation) secrets_.emplace(e);
  for (const auto index : past_.events) {
    happened_[index] = true;
    members_.apply(index);
  }
  for (std::uint32_t i = 0; i < e.settings.events->size(); ++i)
    if (const auto& event = (*e.settings.events)[i]; !event.at_round && !happened_[i])
      entries_.push({from_seconds(event.seconds), entry_kind::event, 0, i, 0, 0});
  std::unordered_map<std::uint64_t, broadcast_ptr> models;
  for (auto& [version, from] : start.started_from)
    models[version] =
        std::make_shared<const broadcast>(broadcast{start.run, version, std::move(from.model), {}, from.limits});
  for (const auto& open : server_.open_tasks()) {
    const auto& from = models[open.id.version];  // null: it needs none any more
    aggregators_[open.aggregator].restore(open, from ? from->limits : update_limits{});
    const auto what = std::ranges::find(past_.tasks, open.id, &simulated_task::id);
    if (what == past_.tasks.end()) continue;
    live_task made{.what = *what, .aggregator = open.aggregator, .from = from, .closed = open.closed};
    schedule_task(tasks_.emplace(open.id.client, std::move(made)).first->second);
  }
  past_.tasks.clear();
  queue(server_.start());
}

simulation_state timeline::simulated() const {
  auto state = past_;
  for (const auto& [client, task] : tasks_) state.tasks.push_back(task.what);
  for (const auto& [client, task] : unmasked_) state.tasks.push_back(task.what);
  std::ranges::sort(state.tasks, {}, [](const auto& task) { return task.id.client; });
  return state;
}

server_state timeline::snapshot() const {
  if (taken_back_) return *taken_back_;
  auto state = server_.snapshot();
  state.simulation = simulated();
  return state;
}

void timeline::fail_with(error why) {
  if (!failure_) failure_ = std::move(why);
}

void timeline::queue(protocol::server_effects&& effects) {
  for (auto& effect : effects) effects_.push_back(std::move(effect));
}

/// True if a job still reads private values that are to be erased: calls of the store for one client must not overlap.
bool timeline::erasure_must_wait() const {
  return std::ranges::any_of(past_.erasures, [this](std::uint32_t client) {
    const auto at = tasks_.find(client);
    return at != tasks_.end() && at->second.stage == training::taken;
  });
}

result<void> timeline::erase_those_who_left() {
  auto gone = std::exchange(past_.erasures, {});
  if (gone.empty()) return {};
  ++world_changes_;
  std::ranges::sort(gone);
  for (const auto client : gone) {
    if (auto erased = store_.erase(client); !erased) return tl::unexpected(erased.error());
    server_.on_erased(client);
  }
  if (!observer_.on_event) return {};
  run_event event{now_, server_.state().version + 1, "erased", {}, {}, {}, std::move(gone)};
  if (event.members.size() == 1) event.client = std::exchange(event.members, {}).front();
  return observer_.on_event(event);
}

result<void> timeline::begin() {
  // A checkpoint may be durable, and what was to be erased after it not yet erased.
  auto erased = erase_those_who_left();
  // What happens at the very beginning does so before anybody is asked.
  while (!entries_.empty() && entries_.top().kind == entry_kind::event && entries_.top().at <= now_) step();
  return erased;
}

result<run_needs> timeline::advance() try {
  if (!std::exchange(begun_, true))
    if (auto erased = begin(); !erased) return tl::unexpected(erased.error());
  for (;;) {
    if (!taken_back_) perform_all();
    // A round that waits for clients may do so for long: when the run is to stop it begins again in the next life.
    if (!failure_ && !paused_ && server_.waits_for_clients() && stop_ != nullptr &&
        stop_->load(std::memory_order_relaxed))
      take_back_round();
    if (failure_) return tl::unexpected(*failure_);
    if (taken_back_) return needs_;
    if (needs_ == run_needs::checkpoint && erasure_must_wait()) return run_needs::training;
    if (paused_ || needs_ == run_needs::nothing) return needs_;
    if (!sums_wanted().empty()) return run_needs::sums;
    if (entries_.empty())
      return fail(error::kind::runtime, "virtual time " + std::to_string(to_seconds(now_)) + " s",
                  "nothing can happen any more: " + std::to_string(tasks_.size() + unmasked_.size()) +
                      " clients are at work and none will ever report",
                  "set participation.deadline (mode sync), or let the clients come back");
    if (!step()) return run_needs::training;
  }
} catch (const models::broken_part& broken) {
  return tl::unexpected(broken.why);
}

// ---- jobs ----------------------------------------------------------------------------------------------------------

bool timeline::needs_training(const live_task& task) const {
  if (task.what.trained_at >= never) return false;
  return trains_discarded_ || (!task.what.dropped && !task.closed);
}

bool timeline::is_current(const entry& one) const {
  const auto at = tasks_.find(one.client);
  return at != tasks_.end() && at->second.what.id.version == one.version && at->second.what.id.attempt == one.attempt &&
         at->second.what.ends_at == one.at;
}

void timeline::take_jobs(std::size_t count, std::vector<training_job>& out) {
  for (; count > 0 && !untrained_.empty(); untrained_.pop()) {
    const auto first = untrained_.top();
    if (!is_current(first)) continue;
    auto& task = tasks_.at(first.client);
    if (task.stage != training::waiting || !needs_training(task)) continue;
    task.stage = training::taken;
    out.push_back(spare_.empty() ? training_job() : std::move(spare_.back()));
    if (!spare_.empty()) spare_.pop_back();
    out.back().id = task.what.id;
    out.back().from = task.from;
    out.back().use = use_of(task);
    out.back().aggregator = task.aggregator;
    // Neither an event nor a failure can undo it, and it is done once.
    out.back().stores = adding_ == add_mode::by_run && e_.around == nullptr && !e_.model->may_fail();
    const auto kept = kept_.find(task.what.id.client);
    out.back().loaded = kept != kept_.end();
    if (out.back().loaded) out.back().own = kept->second;
    ++ahead_;
    --count;
  }
}

void timeline::on_trained(training_job&& done) {
  auto& task = tasks_.at(done.id.client);
  task.stage = training::done;
  task.result = std::move(done);
  task.result.from.reset();
  if (adding_ != add_mode::by_run && task.result.held) held_updates_.emplace(task.what.id, task.aggregator);
}

// ---- entries -------------------------------------------------------------------------------------------------------

void timeline::schedule_task(const live_task& task) {
  const auto& what = task.what;
  if (what.ends_at >= never) return;
  const entry one{what.ends_at,   entry_kind::task, draw_order(e_.settings.seed, what.id),
                  what.id.client, what.id.version,  what.id.attempt};
  entries_.push(one);
  if (task.stage == training::waiting && needs_training(task)) untrained_.push(one);
}

bool timeline::step() {
  const auto first = entries_.top();
  if (first.kind == entry_kind::task) {
    if (!is_current(first)) {
      entries_.pop();
      return true;
    }
    auto& task = tasks_.at(first.client);
    // Training in progress is waited for even if it is useless by now: no other job may use the client's values.
    if (task.stage == training::taken || (needs_training(task) && task.stage == training::waiting)) return false;
    entries_.pop();
    now_ = std::max(now_, first.at);
    end_task(task);
    return true;
  }
  entries_.pop();
  now_ = std::max(now_, first.at);
  if (first.kind == entry_kind::event)
    trigger_event(first.client);
  else if (first.kind == entry_kind::presence)
    look_at({e_.run, first.version, first.client, first.attempt});
  else
    queue(server_.on_timer({static_cast<protocol::timer_kind>(first.client), first.version, first.at}, now_));
  return true;
}

/// The client's report arrives, or it is known to have dropped out.
void timeline::end_task(live_task& task) {
  if (task.stage == training::done) --ahead_;
  const auto id = task.what.id;
  // Whether it counts must not depend on how far ahead of time the work was done.
  const bool wanted = needs_training(task);
  bool done = wanted && !task.result.failure;
  if (done && task.result.keeps && e_.settings.own->commit == commit_kind::after_training) done = keep(task);
  auto& aggregator = aggregators_[task.aggregator];
  const auto number = task.aggregator;
  if (task.what.dropped) {
    server_.explain_drop(id, task.what.cause);
    aggregator.on_drop(id, *task.what.dropped, share_effects_);
  } else if (!wanted)
    aggregator.on_unwanted(id, e_.planned_upload_bytes ? e_.planned_upload_bytes(id.client) : 0, share_effects_);
  else if (done && secrets_)
    give_masked_update(task);
  else if (done)
    give_update(task);
  else if (task.result.store_failed && task.result.failure->what == error::kind::model)
    return fail_round(*task.result.failure);
  else if (task.result.store_failed)
    fail_with(*task.result.failure);
  else {
    if (task.result.failure) note_failure(id.client, *task.result.failure);
    aggregator.on_failure(id, share_effects_);
  }
  recycle(std::move(task.result));
  tasks_.erase(id.client);
  perform_share(number);
}

void timeline::give_update(live_task& task) {
  auto& aggregator = aggregators_[task.aggregator];
  const auto refused = adding_ == add_mode::by_run ? aggregator.on_update(task.result.update, share_effects_)
                                                   : aggregator.on_report(task.result.report, share_effects_);
  if (task.result.keeps && e_.settings.own->commit == commit_kind::after_ack && !refused && !task.closed)
    held_.insert_or_assign(task.what.id.client,
                           held_values{task.what.id, std::move(task.result.own), task.what.trained_at});
}

void timeline::note_failure(std::uint32_t client, const error& why) {
  server_.on_event({now_, server_.state().version + 1, "client-failed", client, {}, why.text()});
}

/// The buffers of a job serve the next one.
void timeline::recycle(training_job&& done) {
  constexpr std::size_t most_spares = 256;
  if (done.update.change.values.capacity() == 0 || spare_.size() >= most_spares) return;
  done.from.reset();
  done.failure.reset();
  spare_.push_back(std::move(done));
}

/// False if they were not stored. That is the client's failure, and the run's if the whole store has failed.
bool timeline::keep(const live_task& task) {
  const auto [client, version] = std::pair(task.what.id.client, task.what.id.version);
  // The round can be taken back; or what the client kept earlier in it waits to be stored, and would replace this.
  if (e_.model->may_fail() || server_.waits_for_clients() || kept_.contains(client)) {
    kept_.insert_or_assign(client, task.result.own);
    server_.on_kept(client, version, task.what.trained_at);
    return true;
  }
  const auto kept =
      task.result.stored ? result<void>() : store_.commit(client, server_.state().version, task.result.own.unpacked());
  if (kept)
    server_.on_kept(client, version, task.what.trained_at);
  else if (kept.error().what == error::kind::runtime)
    fail_with(kept.error());
  else
    note_failure(client, kept.error());
  return kept.has_value();
}

// ---- what happens to the world -------------------------------------------------------------------------------------

void timeline::on_round(std::uint64_t version, virtual_time now) {
  now_ = std::max(now_, now);
  for (std::uint32_t i = 0; i < happened_.size(); ++i)
    if (const auto& event = (*e_.settings.events)[i]; event.at_round && !happened_[i] && event.round <= version + 1)
      trigger_event(i);
}

bool timeline::reachable(std::uint32_t client, virtual_time now, std::uint64_t version) {
  const auto& leaving = past_.erasures;
  return members_.present(client) && std::ranges::find(leaving, client) == leaving.end() &&
         (e_.around == nullptr || e_.around->presence->available(client, now, version));
}

virtual_time timeline::reachable_until(std::uint32_t client, virtual_time now, std::uint64_t version) const {
  return e_.around == nullptr ? never : e_.around->presence->changes(client, now, version);
}

bool timeline::waiting_helps() const {
  // Availability that is drawn round by round stays as it is until the next round.
  return e_.around == nullptr || !e_.around->presence->by_round();
}

void timeline::trigger_event(std::uint32_t index) {
  const auto& event = (*e_.settings.events)[index];
  happened_[index] = true;
  ++world_changes_;
  past_.events.push_back(index);
  members_.apply(index);
  const auto whom = clients_of(event, index, e_.settings.seed, client_count(e_));
  server_.on_event(make_run_event(event, now_, server_.state().version + 1, whom));
  apply_event(event, whom);
}

void timeline::apply_event(const event_settings& event, const client_set& whom) {
  std::vector<std::uint32_t> struck;
  for (const auto& [client, task] : tasks_)
    if (whom.contains(client)) struck.push_back(client);
  for (const auto client : struck) {
    auto& task = tasks_.at(client);
    if (federated::apply_event(e_, event, now_, task.what)) schedule_task(task);
  }
  apply_to_unmasked(event, whom);
  // Values that wait for an acknowledgement are in memory, and go with the process, unless they are stored as pending.
  const bool runs_on = event.what == event_kind::join || event.what == event_kind::restart ||
                       event.what == event_kind::partition || event.what == event_kind::heal;
  if (secrets_ && !runs_on) whom.visit([&](std::uint32_t client) { secrets_->secrets().forget_client(client); });
  if (loses_waiting_values(e_.settings, event))
    std::erase_if(held_, [&](const auto& of) { return whom.contains(of.first); });
  if (event.what == event_kind::leave && event.erase) {
    whom.visit([&](std::uint32_t client) { past_.erasures.push_back(client); });
    server_.want_checkpoint();
  }
}

}  // namespace furlong::federated
