#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/federation/model_frames.hpp"
#include "actors/federation/node.hpp"
#include "federated/client/client_work.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::actors::federation {

namespace {

constexpr std::size_t tasks_per_wave = 8;  // per worker

/// Makes the values of the next reports durable and recorded, so that a store that loses some is refused.
/// @param served versions up to which the node has served, including the next reports
void save(node_pointer self, std::uint64_t served) {
  auto& state = self->state;
  served = std::max(served, state.machine->claim().served);
  if (auto saved = state.run->store->save(served); !saved) finish(self, "its store failed", saved.error());
}

worker_actor take_worker(node_pointer self) {
  auto worker = self->state.idle.back();
  self->state.idle.pop_back();
  ++self->state.busy;
  return worker;
}

std::uint64_t served_by(const std::vector<node_training>& done) {
  std::uint64_t served = 0;
  for (const auto& one : done)
    if (!one.job->failure) served = std::max(served, one.job->id.version + 1);
  return served;
}

/// Called before updates are reported, so that a store restored without their values is detected.
void note_served(node_pointer self, std::uint64_t served) {
  auto& state = self->state;
  if (state.over || !state.run->note_served || served <= state.machine->claim().served) return;
  if (auto noted = state.run->note_served(served); !noted) return finish(self, "its store failed", noted.error());
  state.machine->on_served(served);
}

/// What the server hears of a part that failed. The part's own words may hold what clients keep private.
std::string failed_part(const error& failure) { return "its " + failure.place + " failed, and its output says how"; }

/// Ends a wave: syncs the trained values, then reports the updates.
void end_wave(node_pointer self) {
  auto& state = self->state;
  state.given = 0;
  auto done = std::exchange(state.done, {});
  if (done.empty()) return;
  // The store has failed for all clients: the tasks are not reported as failures of their clients.
  for (const auto& one : done) {
    const auto& job = *one.job;
    if (!job.store_failed) continue;
    return job.part_failed ? finish(self, failed_part(*job.failure), *job.failure, true)
                           : finish(self, "its store or its model failed", *job.failure);
  }
  if (federated::stages_values(state.run->e.settings))
    for (const auto& one : done)
      if (!one.job->failure && one.job->keeps && state.machine->counts(one.job->id))
        if (auto staged = state.run->store->stage(one.job->id, one.job->own.unpacked()); !staged)
          return finish(self, "its store failed", staged.error());
  const auto served = served_by(done);
  if (state.run->e.settings.algorithm->traits.keeps_state) save(self, served);
  note_served(self, served);
  if (state.over) return;
  protocol::node_effects effects;
  const auto add = [&](protocol::node_effects some) {
    for (auto& one : some) effects.push_back(std::move(one));
  };
  for (auto& one : done) {
    const auto id = one.job->id;
    if (one.job->failure) {
      spdlog::error("client {} failed: {}", id.client, one.job->failure->text());
      add(state.machine->on_failed(id));
      continue;
    }
    if (state.secrets)
      state.plain[id] = {std::move(one.job->update), one.job->from};
    else
      state.updates[id] = std::move(one.frame);
    if (one.job->keeps && state.run->e.settings.own->commit == federated::commit_kind::after_ack)
      state.held[id] = {std::make_shared<const models::packed_private>(std::move(one.job->own))};
    add(state.machine->on_trained(id));
  }
  perform_all(self, std::move(effects));
}

void start_work(node_pointer self) {
  auto& state = self->state;
  std::vector<federated::task_id> over;
  while (!state.idle.empty() && !state.scorings.empty()) {
    auto next = std::move(state.scorings.front());
    state.scorings.pop_front();
    next.run = state.run;
    ++state.working_scorers;
    self->send(take_worker(self), std::move(next));
  }
  while (!state.idle.empty() && !state.jobs.empty() && state.given < tasks_per_wave * state.workers.size()) {
    auto next = std::move(state.jobs.front());
    state.jobs.pop_front();
    if (!state.machine->counts(next.id)) {  // of an earlier life of the run, or withdrawn
      over.push_back(next.id);
      continue;
    }
    ++state.given;
    state.training.insert(next.id.client);
    auto job = std::make_shared<federated::training_job>(std::move(next));
    self->send(take_worker(self), node_training{state.run, std::move(job)});
  }
  protocol::node_effects effects;
  for (const auto& id : over)
    for (auto& one : state.machine->on_failed(id)) effects.push_back(std::move(one));
  if (!effects.empty()) perform_all(self, std::move(effects));
}

/// Runs the actions on the store that need not wait any longer. They may begin the next wave.
void run_store_actions(node_pointer self) {
  auto& state = self->state;
  while (!state.store_actions.empty() && !state.over) {
    const bool between_waves = state.busy == 0 && state.done.empty();
    if (!between_waves && !state.store_actions.front().may_run()) break;
    const auto next = std::move(state.store_actions.front());
    state.store_actions.pop_front();
    next.run();
  }
  sync_values(self);
}

}  // namespace

void finish(node_pointer self, const std::string& why, std::optional<error> failure, bool part_failed) {
  auto& state = self->state;
  if (std::exchange(state.over, true)) return;
  if (state.channel) {
    static_cast<void>(send_control(*state.channel, protocol::close_notice{why, false, false, {}, part_failed}));
    state.channel->close();
  }
  for (const auto& worker : state.workers) self->send_exit(worker, caf::exit_reason::user_shutdown);
  state.hooks.on_over(why, failure);
  self->quit();
}

void expect(node_pointer self, const result<void>& sent) {
  if (!sent) finish(self, "cannot send: " + sent.error().text(), sent.error());
}

bool workers_commit(node_pointer self) {
  const auto& run = self->state.run;
  return run && run->e.settings.own->commit == federated::commit_kind::after_training;
}

void sync_values(node_pointer self) {
  if (!self->state.over && std::exchange(self->state.unsynced, false)) save(self, 0);
}

void store_values(node_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version) {
  if (std::exchange(held.kept, true)) return;
  const auto may_run = [self, client = task.client] {
    return self->state.working_scorers == 0 && !self->state.training.contains(client) && !workers_commit(self);
  };
  self->state.store_actions.push_back({may_run, [self, task, value = held.value, version] {
                                         self->state.unsynced = true;
                                         auto kept =
                                             self->state.run->store->commit(task.client, version, value->unpacked());
                                         if (kept) return;
                                         if (kept.error().what == error::kind::runtime)
                                           return finish(self, "its store failed", kept.error());
                                         spdlog::error("client {}: {}", task.client, kept.error().text());
                                       }});
}

void discard_values(node_pointer self, const federated::task_id& task) {
  const auto may_run = [self, client = task.client] { return !self->state.training.contains(client); };
  self->state.store_actions.push_back({may_run, [self, task] {
                                         if (self->state.held.contains(task)) return;  // trained again meanwhile
                                         self->state.unsynced = true;
                                         if (auto done = self->state.run->store->discard(task); !done)
                                           finish(self, "its store failed", done.error());
                                       }});
}

void continue_work(node_pointer self) {
  auto& state = self->state;
  if (state.over) return;
  if (const auto failed = guarded("the node", [&] { run_store_actions(self); }))
    return finish(self, "it failed", *failed);
  if (state.over) return;
  const bool wave_is_full = state.given >= tasks_per_wave * state.workers.size();
  if (state.busy == 0) {
    if (!state.done.empty()) return end_wave(self);  // it calls this function again
    if (state.ending) return finish(self, state.ending->why, state.ending->failure);
    state.given = 0;
  } else if (wave_is_full || !state.store_actions.empty() || state.ending) {
    return;  // until it has ended
  }
  if (state.run) start_work(self);
}

}  // namespace furlong::actors::federation
