#include "federated/simulation/network/simulated_run.hpp"

#include <algorithm>

#include "federated/client/client_work.hpp"
#include "federated/evaluation/client_scorer.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/simulation/scenario_events.hpp"

namespace furlong::federated::network {

namespace {

/// A checkpoint takes so long. Verdicts of its last round reach their nodes meanwhile.
constexpr virtual_time checkpoint_time = 20 * millisecond;
/// Nodes that hear of the end of a run have so long to end.
constexpr virtual_time ending_time = 60 * second;
/// A run that does not begin in this time never does.
constexpr virtual_time longest_start = 3600 * second;

std::uint32_t client_count(const experiment& e) { return e.clients->facts().clients; }

federation_shape shape_of(const run_settings& settings) {
  federation_shape shape;
  shape.aggregators = settings.topology->aggregators > 1 ? settings.topology->aggregators : 0;
  shape.nodes = settings.topology->nodes;
  return shape;
}

}  // namespace

simulated_run::simulated_run(const experiment& e, server_state start, private_store& store,
                             const run_observer& observer)
    : environment(e),
      store_(store),
      observer_(observer),
      disk_(store),
      members_(e.settings, client_count(e)),
      past_(start.simulation),
      happened_(e.settings.events->size(), false),
      federation_(e, *this, shape_of(e.settings)),
      jobs_(&federation_.world().jobs),
      resumed_(start.history.life() > 0) {
  for (std::size_t i = e.settings.events->size(); i-- > 0;) record_first_event((*e.settings.events)[i]);
  for (const auto index : past_.events) {
    happened_[index] = true;
    members_.apply(index);
    record_process_event((*e.settings.events)[index]);
  }
  start.simulation = {};
  federation_.start_server(std::move(start));
  start_processes();
}

host simulated_run::host_of(const event_settings& event, std::uint32_t number) const {
  return event.target == event_target::nodes ? federation_.node_host(number) : federation_.aggregator_host(number);
}

/// A node whose first joining or leaving is a join is not there before it. Call it for the last event first.
void simulated_run::record_first_event(const event_settings& event) {
  if (event.target != event_target::nodes) return;
  for (auto number = event.first; number <= event.last; ++number) {
    if (event.what == event_kind::join) down_.insert(host_of(event, number));
    if (event.what == event_kind::leave) down_.erase(host_of(event, number));
  }
}

/// What an event that has happened means for the processes that it is about.
void simulated_run::record_process_event(const event_settings& event) {
  if (event.target == event_target::clients) return;
  for (auto number = event.first; number <= event.last; ++number) {
    const auto at = host_of(event, number);
    switch (event.what) {
      case event_kind::kill:
      case event_kind::leave: down_.insert(at); break;
      case event_kind::restart:
      case event_kind::join: down_.erase(at); break;
      case event_kind::partition: isolated_.insert(at); break;
      case event_kind::heal: isolated_.erase(at); break;
      case event_kind::unresponsive: break;  // of clients without nodes
    }
  }
}

void simulated_run::start_processes() {
  for (host at = 1; at < federation_.hosts(); ++at) {
    if (isolated_.contains(at)) federation_.world().net.isolate(at);
    if (!down_.contains(at)) federation_.start(at);
  }
}

// ---- the driver ----------------------------------------------------------------------------------------------------

bool simulated_run::is_over() {
  if (interrupted_) return true;
  auto& world = federation_.world();
  if (!world.over) return false;
  if (!over_at_) over_at_ = world.net.clock.now();
  return federation_.all_nodes_stopped() || world.net.clock.now() > *over_at_ + ending_time;
}

result<run_needs> simulated_run::advance() try {
  auto& world = federation_.world();
  if (!std::exchange(begun_, true)) {
    // A checkpoint may be durable, and what was to be erased after it not yet erased.
    if (auto erased = erase_those_who_left(); !erased) return tl::unexpected(erased.error());
    if (auto discarded = discard_lost_tasks(); !discarded) return tl::unexpected(discarded.error());
  }
  for (;;) {
    if (failure_) return tl::unexpected(*failure_);
    if (checkpoint_due_) return run_needs::checkpoint;
    if (is_over()) {
      if (auto synced = store_.sync(); !synced) return tl::unexpected(synced.error());
      return run_needs::nothing;
    }
    if (world.net.clock.empty())
      return fail(error::kind::runtime, "the simulated federation", "nothing can happen any more", "");
    if (!federation_.server()->started() && world.net.clock.now() > longest_start)
      return fail(error::kind::runtime, "the simulated federation",
                  "the run does not begin: " + std::to_string(federation_.server()->reached()) + " of " +
                      std::to_string(e_.participants->training().size()) + " training clients have joined",
                  "lower network.start, or let more nodes be there from the beginning");
    if (stops() && federation_.server()->started() && !std::exchange(told_to_stop_, true)) federation_.server()->stop();
    if (jobs_->waits_for(world.net.clock.next_job())) return run_needs::training;
    world.net.clock.step();
  }
} catch (const models::broken_part& broken) {
  return tl::unexpected(broken.why);
}

void simulated_run::take_jobs(std::size_t count, std::vector<training_job>& out) { jobs_->take(count, out); }
void simulated_run::on_trained(training_job&& done) { jobs_->on_trained(std::move(done)); }

bool simulated_run::stops() const { return stopping_ || (stop_ != nullptr && stop_->load(std::memory_order_relaxed)); }

server_state simulated_run::snapshot() const {
  auto state = federation_.server()->machine().snapshot();
  state.simulation = past_;
  return state;
}

result<void> simulated_run::on_checkpointed() {
  checkpoint_due_ = false;
  if (evaluation_failure_) {
    on_failure(*evaluation_failure_);
    return {};
  }
  if (auto erased = erase_those_who_left(); !erased) return erased;
  federation_.server()->on_checkpointed(state().version);
  return {};
}

/// Tasks in flight are lost when a run is resumed. Whether one had been trained must not make a difference: it may have
/// been after the checkpoint.
result<void> simulated_run::discard_lost_tasks() {
  if (!resumed_ || !stages_values(e_.settings)) return {};
  for (const auto& task : federation_.server()->machine().open_tasks())
    if (auto discarded = store_.discard(task.id); !discarded) return discarded;
  return {};
}

result<void> simulated_run::erase_those_who_left() {
  auto gone = std::exchange(past_.erasures, {});
  if (gone.empty()) return {};
  std::ranges::sort(gone);
  auto& server = *federation_.server();
  for (const auto client : gone) {
    if (auto erased = store_.erase(client); !erased) return tl::unexpected(erased.error());
    server.machine().on_erased(client);
  }
  if (!observer_.on_event) return {};
  run_event record{server.run_now(), state().version + 1, "erased", {}, {}, {}, std::move(gone)};
  if (record.members.size() == 1) record.client = std::exchange(record.members, {}).front();
  return observer_.on_event(record);
}

// ---- what the server reports
// -----------------------------------------------------------------------------------------

void simulated_run::on_failure(error what) {
  if (!failure_) failure_ = std::move(what);
}

void simulated_run::on_event(const run_event& what) {
  if (!observer_.on_event) return;
  if (auto record = observer_.on_event(what); !record) on_failure(record.error());
}

void simulated_run::on_round(const round_report& report, const protocol::server_machine&) {
  if (!observer_.on_round) return;
  if (auto record = observer_.on_round(report); !record) on_failure(record.error());
}

void simulated_run::on_evaluation(const evaluation_report& figures, std::size_t) {
  last_evaluation_ = figures;
  if (!observer_.on_evaluation) return;
  if (auto record = observer_.on_evaluation(figures); !record) on_failure(record.error());
}

void simulated_run::on_checkpoint(server_process&) {
  federation_.world().net.clock.after(checkpoint_time, [this] { checkpoint_due_ = true; });
}

void simulated_run::on_finish(bool interrupted) {
  interrupted_ = interrupted;
  finished_ = true;
}

// ---- clients -------------------------------------------------------------------------------------------------------

bool simulated_run::available(std::uint32_t client, virtual_time now, std::uint64_t version) {
  const auto& leaving = past_.erasures;
  return members_.present(client) && std::ranges::find(leaving, client) == leaving.end() &&
         e_.around->presence->available(client, now, version);
}

virtual_time simulated_run::available_until(std::uint32_t client, virtual_time now, std::uint64_t version) {
  return e_.around->presence->changes(client, now, version);
}

/// The network's clock begins with the processes: before the run, and again when it is resumed.
virtual_time simulated_run::clock_ahead() {
  return federation_.server()->run_now() - federation_.world().net.clock.now();
}

bool simulated_run::waiting_helps() const {
  // Availability that is drawn round by round stays as it is until the next round; but nodes may come back.
  return e_.around == nullptr || !e_.around->presence->by_round();
}

scored_client simulated_run::score(std::uint32_t, const broadcast& model, group in, std::uint32_t client) {
  client_scorer scorer(e_, model.model, model.version, &store_);
  scorer.exclude(past_.erasures);
  auto score = scorer.score(in, client, use_);
  if (!score && score.error().what == error::kind::model && !evaluation_failure_) evaluation_failure_ = score.error();
  if (!score && score.error().what == error::kind::runtime) on_failure(score.error());
  return {in, client, score ? std::move(*score) : failed_score()};
}

void simulated_run::on_kept(const task_id& task, std::uint32_t, virtual_time trained_at) {
  federation_.server()->machine().on_kept(task.client, task.version, trained_at);
}

/// A message of the server may arrive at a node after its client was cut off.
void simulated_run::on_fate(simulated_task& task) {
  if (!members_.cut_off(task.id.client)) return;
  event_settings partition;
  partition.what = event_kind::partition;
  static_cast<void>(apply_event(e_, partition, task.started_at, task));
}

void simulated_run::on_dropped(const task_id& task, drop_cause cause) {
  federation_.server()->machine().explain_drop(task, cause);
}

// ---- events --------------------------------------------------------------------------------------------------------

/// A run that is resumed may have lost nodes for which an event in a later round is needed.
bool simulated_run::waits_for_more(virtual_time waited) const {
  return !resumed_ || waited < from_seconds(e_.settings.network->task_timeout);
}

void simulated_run::on_begin(virtual_time now) {
  for (std::uint32_t i = 0; i < happened_.size(); ++i) {
    const auto& event = (*e_.settings.events)[i];
    if (event.at_round || happened_[i]) continue;
    const auto wait = from_seconds(event.seconds) - now;
    if (wait <= 0)
      trigger_event(i);
    else
      federation_.world().net.clock.after(wait, [this, i] { trigger_event(i); });
  }
}

void simulated_run::on_round_begins(std::uint64_t version, virtual_time) {
  for (std::uint32_t i = 0; i < happened_.size(); ++i)
    if (const auto& event = (*e_.settings.events)[i]; event.at_round && !happened_[i] && event.round <= version + 1)
      trigger_event(i);
}

void simulated_run::trigger_event(std::uint32_t index) {
  if (finished_) return;
  const auto& event = (*e_.settings.events)[index];
  happened_[index] = true;
  past_.events.push_back(index);
  members_.apply(index);
  const auto whom = clients_of(event, index, e_.settings.seed, client_count(e_));
  auto& server = *federation_.server();
  server.machine().on_event(make_run_event(event, server.run_now(), state().version + 1, whom));
  if (event.target == event_target::clients) return apply_to_clients(event, whom);
  record_process_event(event);
  for (auto number = event.first; number <= event.last; ++number) apply_to_process(event, host_of(event, number));
}

void simulated_run::apply_to_clients(const event_settings& event, const client_set& whom) {
  const auto now = federation_.server()->run_now();
  const bool gone = loses_waiting_values(e_.settings, event);
  for (std::uint32_t n = 0; n < e_.settings.topology->nodes; ++n) {
    auto* node = federation_.node(n);
    if (node == nullptr) continue;
    node->update_fates(
        [&](simulated_task& task) { return whom.contains(task.id.client) && apply_event(e_, event, now, task); });
    if (gone) node->forget_held([&](std::uint32_t client) { return whom.contains(client); });
  }
  if (event.what != event_kind::leave || !event.erase) return;
  whom.visit([&](std::uint32_t client) { past_.erasures.push_back(client); });
  federation_.server()->machine().want_checkpoint();
}

void simulated_run::apply_to_process(const event_settings& event, host at) {
  switch (event.what) {
    case event_kind::join:
    case event_kind::restart: return federation_.start(at);
    case event_kind::kill: return federation_.kill(at);
    case event_kind::leave: return federation_.drain(at - federation_.node_host(0));
    case event_kind::partition: return federation_.world().net.isolate(at);
    case event_kind::heal: return federation_.world().net.heal(at);
    case event_kind::unresponsive: return;  // of clients without nodes
  }
}

}  // namespace furlong::federated::network
