// The waves of a node, and its private store.
#include <algorithm>
#include <iterator>

#include "federated/client/client_work.hpp"
#include "federated/processes/node_role.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "federated/settings/private_values.hpp"

namespace furlong::federated::processes {

bool node_role::next(work_item& item) {
  while (!over_ && !ending_ && run_) {
    const bool found = work_.next(item);
    const auto superseded = work_.take_superseded();
    for (const auto& task : superseded) perform(machine_.on_failed(task));
    if (!superseded.empty()) advance();
    if (over_) return false;
    if (found || superseded.empty()) return found;
  }
  return false;
}

void node_role::on_done(trained_task&& done) {
  if (over_) return;
  work_.on_trained(std::move(done));
  advance();
}

void node_role::on_done(scored_clients&& done) {
  if (over_) return;
  if (done.is_last) work_.on_scored();
  // Another session did not ask for them, and may belong to another life of the run.
  if (is_current(done.session)) send(std::move(done.scores));
  advance();
}

void node_role::advance() {
  while (!over_) {
    work_.run_actions([this] { return !over_; });
    sync_values();
    if (over_) return;
    auto wave = work_.take_wave();
    if (wave.empty()) break;
    end_wave(std::move(wave));
  }
  if (!over_ && ending_ && work_.is_idle()) finish(*ending_);
}

/// Makes what was trained durable, then reports it.
void node_role::end_wave(std::vector<trained_task> wave) {
  // The store has failed for all clients: the tasks are not reported as failures of their clients.
  for (const auto& [job, update, dropped, trained_at] : wave) {
    if (!job.store_failed) continue;
    // The part's own words may hold what clients keep private.
    return job.part_failed
               ? finish({"its " + job.failure->place + " failed, and its output says how", *job.failure}, true)
               : finish({"its store or its model failed", *job.failure});
  }
  if (store_results(wave) && record(wave)) report(std::move(wave));
}

/// Stores what workers did not. The life in which the work began may be over, and with it the work; then nothing of it
/// is to be kept.
bool node_role::store_results(const std::vector<trained_task>& wave) {
  const auto& settings = run_->e->settings;
  const bool at_once = trains_if_discarded(settings);
  for (const auto& [job, update, dropped, trained_at] : wave) {
    if (job.failure || !job.keeps || job.stored || !machine_.counts(job.id)) continue;
    result<void> done;
    if (at_once && trained_at < never) {
      done = run_->store->commit(job.id.client, job.id.version, job.own.unpacked());
      stored_.emplace_back(job.id, trained_at);
    } else if (!dropped && stages_values(settings)) {
      done = run_->store->stage(job.id, job.own.unpacked());
    }
    if (done) continue;
    finish({"its store failed", done.error()});
    return false;
  }
  return true;
}

/// So that a store that is restored without the values of what is reported is detected.
bool node_role::record(const std::vector<trained_task>& wave) {
  std::uint64_t served = 0;
  for (const auto& [job, update, dropped, trained_at] : wave)
    if (!job.failure && !dropped) served = std::max(served, job.id.version + 1);
  if (run_->e->settings.algorithm->traits.keeps_state && !save(served)) return false;
  if (!run_->note_served || served <= machine_.claim().served) return true;
  if (auto noted = run_->note_served(served); !noted) {
    finish({"its store failed", noted.error()});
    return false;
  }
  machine_.on_served(served);
  return true;
}

void node_role::report(std::vector<trained_task>&& wave) {
  const bool after_ack = run_->e->settings.own->commit == commit_kind::after_ack;
  protocol::node_effects effects;
  const auto add = [&](protocol::node_effects more) { std::ranges::move(more, std::back_inserter(effects)); };
  for (auto& [job, update, dropped, trained_at] : wave) {
    const auto id = job.id;
    if (job.failure) {
      host_.log(log_level::failure, "client " + std::to_string(id.client) + " failed: " + job.failure->text());
      add(machine_.on_failed(id));
      continue;
    }
    if (dropped) {
      dropped_[id] = *dropped;
      add(machine_.on_failed(id));
      continue;
    }
    auto& held = held_[id] = {std::move(update), nullptr, trained_at};
    if (masked_) masked_->add(std::move(job.update), job.from);
    if (job.keeps && after_ack) held.value = std::make_shared<const models::packed_private>(std::move(job.own));
    add(machine_.on_trained(id));
  }
  perform(std::move(effects));
  dropped_.clear();
}

// ---- the store
// -------------------------------------------------------------------------------------------------------

/// Stores private values as of that version, once, as soon as no worker reads those of the client.
void node_role::store_values(const task_id& task, held_update& held, std::uint64_t version) {
  if (!held.value || std::exchange(held.kept, true)) return;
  const auto store = [this, task, value = held.value, trained_at = held.trained_at, version] {
    unsynced_ = true;
    if (auto kept = run_->store->commit(task.client, version, value->unpacked()); kept)
      stored_.emplace_back(task, trained_at);
    else if (kept.error().what == error::kind::runtime)
      finish({"its store failed", kept.error()});
    else
      host_.log(log_level::failure, "client " + std::to_string(task.client) + ": " + kept.error().text());
  };
  work_.then({store_action::need::own_values, task.client, store});
}

/// Discards the pending value of a task, after what store_values() does.
void node_role::discard_values(const task_id& task) {
  work_.then({store_action::need::idle_client, task.client, [this, task] {
                if (held_.contains(task)) return;  // trained again meanwhile
                unsynced_ = true;
                if (auto done = run_->store->discard(task); !done) finish({"its store failed", done.error()});
              }});
}

void node_role::sync_values() {
  if (!over_ && std::exchange(unsynced_, false)) static_cast<void>(save(0));
}

/// @param served versions up to which the node has served, including what it reports next
bool node_role::save(std::uint64_t served) {
  if (auto saved = run_->store->save(std::max(served, machine_.claim().served)); !saved) {
    finish({"its store failed", saved.error()});
    return false;
  }
  unsynced_ = false;
  for (const auto& [task, trained_at] : std::exchange(stored_, {})) host_.stored(task, trained_at);
  return true;
}

void node_role::finish(node_end end, bool part_failed) {
  if (std::exchange(over_, true)) return;
  send(protocol::close_notice{end.why, false, false, {}, part_failed});
  if (std::exchange(is_open_, false)) host_.close(session_);
  host_.ended(end);
}

}  // namespace furlong::federated::processes
