#include "tests/support/network_books.hpp"

#include <algorithm>

#include "base/digest.hpp"
#include "federated/client/client_work.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/private_values.hpp"
#include "federated/settings/training.hpp"
#include "federated/state/broadcasts.hpp"
#include "tests/support/experiments.hpp"

namespace furlong::tests::net {

using federated::task_id;

// ---- stores --------------------------------------------------------------------------------------------------------

result<void> history_store::open(const federated::run_history& history, std::uint64_t covered) {
  history_ = history;
  ++claim_.openings;
  covered_ = std::max(covered, history.resumed_at.empty() ? 0 : history.resumed_at.back());
  return {};
}

const history_store::kept* history_store::current(const kept (&two)[2]) const {
  const kept* best = nullptr;
  for (const auto& one : two)
    if (one.present && history_.contains(one.life, one.version) && (best == nullptr || one.order > best->order))
      best = &one;
  return best;
}

const history_store::kept* history_store::newest(const std::vector<kept>& all) const {
  const auto found = std::find_if(all.rbegin(), all.rend(),
                                  [this](const kept& one) { return history_.contains(one.life, one.version); });
  return found == all.rend() ? nullptr : &*found;
}

result<bool> history_store::load(std::uint32_t client, models::private_parameters& out) {
  const auto at = clients_.find(client);
  if (at == clients_.end()) return false;
  const kept* found = current(at->second.slots);
  const kept* expected = newest(at->second.all);
  if ((found == nullptr) != (expected == nullptr) || (found != nullptr && found->order != expected->order))
    checks_.wrong("client " + std::to_string(client) + " starts from private values that the history does not have");
  if (found != nullptr) std::ranges::copy(found->value, out.values().begin());
  return found != nullptr;
}

result<void> history_store::commit(std::uint32_t client, std::uint64_t version,
                                   const models::private_parameters& value) {
  auto& values = clients_[client];
  unsynced_.try_emplace(client, values);
  auto& two = values.slots;
  const kept* now = current(two);
  std::size_t to = 0;
  if (now != nullptr) {
    const auto at = static_cast<std::size_t>(now - two);
    to = now->version < covered_ ? 1 - at : at;
  }
  two[to] = {history_.life(), version, {value.values().begin(), value.values().end()}, true, ++order_};
  values.all.push_back(two[to]);
  return {};
}

result<void> history_store::stage(const task_id& task, const models::private_parameters& value) {
  auto& values = clients_[task.client];
  unsynced_.try_emplace(task.client, values);
  // What a checkpoint may need stays: the newest that it covers.
  std::optional<task_id> stays;
  for (const auto& [id, one] : values.pending)
    if (id.version < covered_ && history_.contains(one.life, id.version)) stays = id;
  std::erase_if(values.pending, [&](const auto& one) { return one.first != stays; });
  values.pending[task] = {history_.life(), task.version, {value.values().begin(), value.values().end()}, true, 0};
  return {};
}

result<void> history_store::discard(const task_id& task) {
  auto& values = clients_[task.client];
  unsynced_.try_emplace(task.client, values);
  values.pending.erase(task);
  return {};
}

result<void> history_store::visit_pending(
    const std::function<void(const task_id&, const models::private_parameters&)>& each) {
  models::private_parameters value(shape_);
  for (const auto& [client, values] : clients_) {
    for (const auto& [task, one] : values.pending) {
      if (!history_.contains(one.life, one.version)) continue;
      std::ranges::copy(one.value, value.values().begin());
      each(task, value);
    }
  }
  return {};
}

result<void> history_store::sync() {
  unsynced_.clear();
  return {};
}

result<bool> history_store::erase(std::uint32_t client) {
  unsynced_.erase(client);
  return clients_.erase(client) > 0;
}

void history_store::lose_power() {
  for (auto& [client, before] : std::exchange(unsynced_, {})) {
    auto& now = clients_[client];
    for (auto i = before.all.size(); i < now.all.size(); ++i) checks_.lost(client, now.all[i].life, now.all[i].version);
    now = std::move(before);
  }
}

// ---- partials ------------------------------------------------------------------------------------------------------

void books::arrived(std::uint64_t gateway, const update_ptr& update) {
  arrived_[gateway][update->id] = update;
  reported_.insert(update->id);
}

void books::settled(std::uint64_t gateway, const federated::settlement& one) {
  if (one.what == federated::outcome::folded) members_[gateway][one.id] = arrived_[gateway][one.id];
}

void books::merged_below(std::uint64_t by, const partial_ptr& partial) {
  auto below = sent_.extract(partial);
  if (below.empty()) return wrong("a relay merged a partial that nobody sent");
  for (const auto& one : below.mapped()) members_[by].insert(one);
}

void books::merged(const partial_ptr& partial) {
  auto members = sent_.extract(partial);
  if (members.empty()) return wrong("the server merged a partial that nobody sent");
  for (const auto& [id, update] : members.mapped())
    if (!in_round_.emplace(id, update).second) wrong(text_of(id) + " is in two partials of a round");
}

// ---- the server ----------------------------------------------------------------------------------------------------

void books::wrong(const std::string& what) {
  failures.push_back(std::to_string(now) + " us: " + what);
  note("WRONG " + what);
}

void books::begin_life(const saved_life& from) {
  shadow_ = from.state;
  optimizer_.emplace(*e_.settings.server, e_.parts.shared);
  optimizer_->restore(shadow_.optimizer);
  folded_ = durable_ = from.folded;
  in_flight_ = from.in_flight;
  if (from.state.counts.in_flight() != in_flight_ || from.state.open.size() != in_flight_)
    wrong("a checkpoint has other tasks in flight than the last round's report");
  in_round_.clear();
  models_.clear();
  for (const auto& [version, earlier] : from.state.started_from) models_[version] = earlier.model;
  models_[shadow_.version] = federated::make_broadcast(e_, shadow_, shadow_.last()).model;
}

/// selected is the sum of all ends, of the tasks in flight, and of those whose updates are folded but in no model yet.
void books::check_counts(const federated::protocol::server_machine& server) {
  const auto& counts = server.state().counts;
  if (counts.selected != counts.settled() + server.folding() + server.in_flight())
    wrong("selected " + std::to_string(counts.selected) + ", settled " + std::to_string(counts.settled()) +
          ", folding " + std::to_string(server.folding()) + ", in flight " + std::to_string(server.in_flight()));
}

/// What was in flight before a round and what was given out in it has ended in it, or is in flight after it.
void books::check_round(const federated::round_report& report) {
  auto ended = report.folded + report.rejected + report.late + report.surplus + report.abandoned;
  for (const auto dropped : report.dropped) ended += dropped;
  if (in_flight_ + report.selected != ended + report.in_flight)
    wrong("round " + std::to_string(report.version) + ": " + std::to_string(in_flight_) + " in flight and " +
          std::to_string(report.selected) + " given out, " + std::to_string(ended) + " ended and " +
          std::to_string(report.in_flight) + " in flight");
  in_flight_ = report.in_flight;
}

/// The way from the model to those that the updates started from (Xie et al. 2019, algorithm 1).
void books::add_base_difference(federated::aggregate& round) const {
  const auto& how = *e_.settings.participation;
  auto change = round.change.values();
  for (auto& value : change) value *= static_cast<float>(how.mixing);
  const auto ways = std::ranges::count_if(in_round_, [](const auto& of) { return of.second->examples > 0; });
  for (const auto& [id, update] : in_round_) {
    if (id.version == shadow_.version || update->examples == 0) continue;
    const auto weight = static_cast<float>(how.mixing * federated::staleness_weight(how, shadow_.version - id.version) /
                                           static_cast<double>(ways));
    const auto from = models_.at(id.version).values();
    const auto to = shadow_.model.values();
    for (std::size_t i = 0; i < change.size(); ++i) change[i] += weight * (from[i] - to[i]);
  }
}

void books::closed(const federated::round_report& report, const federated::protocol::server_machine& server) {
  check_round(report);
  const auto& how = *e_.settings.participation;
  const bool async = how.mode == federated::participation_mode::async;
  auto sum = federated::make_accumulator(e_, shadow_.reference);
  if (report.gave_up) in_round_.clear();
  for (const auto& [id, update] : in_round_) {
    const auto staleness = shadow_.version - id.version;
    if (update == nullptr || sum->fold(*update, async ? federated::staleness_weight(how, staleness) : 1.0))
      wrong(text_of(id) + " was folded, and cannot be");
    ever_folded_.insert(id);
    if (!folded_.insert(id).second) wrong(text_of(id) + " was folded twice");
    for (std::uint32_t other = 0; other < id.attempt; ++other)
      if (folded_.contains({id.run, id.version, id.client, other})) wrong(text_of(id) + ": two attempts were folded");
    for (const auto& one : told_unwanted_)
      if (one.task == id && server.state().history.contains(one.life, one.decided_at))
        wrong(text_of(id) + " was folded after its client was told that it never would be");
  }
  if (report.folded != in_round_.size())
    wrong("a round says it folded " + std::to_string(report.folded) + ", and did " + std::to_string(in_round_.size()));
  // The last that was missing comes together with what everybody else had in flight.
  if (async && report.folded > std::size_t{how.buffer} - 1 + how.concurrency)
    wrong("a version holds " + std::to_string(report.folded) + " updates, with buffer " + std::to_string(how.buffer) +
          " and concurrency " + std::to_string(how.concurrency));
  auto round = sum->report();
  if (report.gave_up) {
    round.usable = false;
    round.reference.clear();
  }
  if (async && how.async == federated::async_kind::model && round.usable) {
    async_model_mixes_many = async_model_mixes_many || in_round_.size() > 1;
    add_base_difference(round);
  }
  federated::round_report mine;
  federated::close_round(e_, shadow_, *optimizer_, round, mine, federated::round_facts(e_));
  in_round_.clear();
  models_[shadow_.version] = federated::make_broadcast(e_, shadow_, shadow_.last()).model;
  if (!same_bits(shadow_.model.values(), server.state().model.values()))
    wrong("the model of version " + std::to_string(shadow_.version) + " is not what its updates make it");
  if (shadow_.version != server.state().version) wrong("versions differ");
  ++rounds;
}

void books::lost(std::uint32_t client, std::uint32_t life, std::uint64_t version) {
  const auto is_lost = [&](const auto& one) {
    return one.first == life && one.second.client == client && one.second.version == version;
  };
  const bool at_once = e_.settings.own->commit == federated::commit_kind::after_training;
  const auto& promised = at_once ? reported_ : told_durable_;
  for (const auto& one : kept_)
    if (is_lost(one) && promised.contains(one.second))
      wrong(text_of(one.second) + (at_once ? " was reported" : " was acknowledged") +
            ", and its private values are lost");
  std::erase_if(kept_, is_lost);
}

void books::told(const federated::protocol::verdict& what, const federated::run_history& history) {
  using federated::protocol::verdict_kind;
  if (what.what == verdict_kind::durable) {
    told_durable_.insert(what.task);
    if (!durable_.contains(what.task)) wrong(text_of(what.task) + " was called durable, and is in no checkpoint");
    return;
  }
  if (what.what == verdict_kind::taken) {
    const bool of_this_life = history.life() == shadow_.history.life();
    if (of_this_life && !folded_.contains(what.task))
      wrong(text_of(what.task) + " was called taken, and is in no model");
    return;
  }
  told_unwanted_.push_back({history.life(), shadow_.version, what.task});
  // Of several in the model only the last of a client need be called durable, and the others only after it.
  const bool later = std::ranges::any_of(durable_, [&](const task_id& other) {
    return other.client == what.task.client && other.version > what.task.version;
  });
  if (folded_.contains(what.task) && !later) wrong(text_of(what.task) + " was called unwanted, and is in the model");
}

void books::kept(const task_id& task, std::uint32_t life) {
  kept_.emplace(life, task);
  if (e_.settings.own->commit == federated::commit_kind::after_ack && !ever_folded_.contains(task))
    wrong(text_of(task) + " is in no model, and its private values are kept");
}

/// What a client's last update in the model left is what its next task starts from.
void books::begins(const task_id& task) {
  if (e_.settings.own->commit != federated::commit_kind::after_ack) return;
  auto last = folded_.lower_bound({task.run, task.version, 0, 0});
  while (last != folded_.begin()) {
    --last;
    if (last->client != task.client) continue;
    if (!was_kept(*last)) wrong(text_of(task) + " starts before the values of " + text_of(*last) + " are kept");
    return;
  }
}

void books::begins_on(const task_id& task, std::uint32_t life, std::uint64_t process) {
  if (federated::stages_values(e_.settings)) return;  // a process that finds the pending value may begin it again
  if (begun_on_.try_emplace({life, task}, process).first->second != process)
    wrong(text_of(task) + " was given to another process than the one that began it");
}

bool books::was_kept(const task_id& task) const {
  return !to_be_kept_.contains(task) || std::ranges::any_of(kept_, [&](const auto& one) { return one.second == task; });
}

}  // namespace furlong::tests::net
