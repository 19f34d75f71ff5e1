// Secure aggregation on the timeline: letters take no time, and updates that cannot be masked yet wait.
#include <algorithm>

#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/settings/devices.hpp"
#include "federated/settings/events.hpp"
#include "federated/simulation/scenario_events.hpp"
#include "federated/simulation/timeline.hpp"

namespace furlong::federated {

/// A task whose update cannot be masked yet is kept until it can be.
void timeline::give_masked_update(live_task& task) {
  auto& aggregator = aggregators_[task.aggregator];
  const auto id = task.what.id;
  if (task.closed)
    return aggregator.on_unwanted(id, e_.planned_upload_bytes ? e_.planned_upload_bytes(id.client) : 0, share_effects_);
  const auto attempt = secrets_->mask(task.from, task.result.update);
  if (attempt.what == processes::masking::kind::masked) return give_update(task);
  if (attempt.what == processes::masking::kind::never) return aggregator.on_failure(id, share_effects_);
  unmasked_.insert_or_assign(id.client, std::move(task));
  if (e_.around != nullptr) {
    const bool is_on = e_.around->presence->available(id.client, now_, id.version);
    watch(id, is_on ? reachable_until(id.client, now_, id.version) : now_);
  }
  if (attempt.letter) queue(server_.on_letters(0, {{*attempt.letter}}, now_));
}

/// A task that was kept because it could not be masked.
void timeline::end_unmasked(std::uint32_t client, bool closed) {
  const auto found = unmasked_.extract(client);
  if (found.empty()) return;
  auto task = std::move(found.mapped());
  auto& aggregator = aggregators_[task.aggregator];
  task.closed = closed;
  if (closed || secrets_->secrets().can_mask(task.what.id))
    give_masked_update(task);
  else
    aggregator.on_failure(task.what.id, share_effects_);
  perform_share(task.aggregator);
}

/// A client drops out while its update waits for others.
void timeline::drop_unmasked(std::uint32_t client, std::optional<drop_cause> cause) {
  const auto found = unmasked_.extract(client);
  if (found.empty()) return;
  const auto& task = found.mapped();
  if (cause) server_.explain_drop(task.what.id, *cause);
  aggregators_[task.aggregator].on_drop(task.what.id, drop_stage::upload, share_effects_);
  perform_share(task.aggregator);
}

// ---- devices -------------------------------------------------------------------------------------------------------

// A client whose update waits is interrupted as in any other part of its task: with policy abort it drops out when its
// device goes off; with policy pause, and behind a partition, letters are kept for it.

/// Looks at the task's client at that time, after tasks that end then.
void timeline::watch(const task_id& task, virtual_time at) {
  if (at < never && watched_.insert(task.client).second)
    entries_.push({at, entry_kind::presence, 0, task.client, task.version, task.attempt});
}

void timeline::look_at(const task_id& task) {
  const auto client = task.client;
  watched_.erase(client);
  const bool is_on = e_.around->presence->available(client, now_, task.version);
  const auto next = reachable_until(client, now_, task.version);
  if (!is_on && (e_.settings.dropout->policy == dropout_policy::abort || next >= never)) {
    undelivered_.erase(client);
    return drop_unmasked(client, drop_cause::off);
  }
  if (is_on) deliver_letters(client);
  if (unmasked_.contains(client) || undelivered_.contains(client)) watch(task, next);
}

void timeline::deliver_letters(std::uint32_t client) {
  auto kept = undelivered_.extract(client);
  if (kept.empty()) return;
  protocol::send_letters again{0, std::move(kept.mapped())};
  perform(again);
}

void timeline::apply_to_unmasked(const event_settings& event, const client_set& whom) {
  std::vector<std::uint32_t> struck;
  for (const auto& [client, task] : unmasked_)
    if (whom.contains(client)) struck.push_back(client);
  for (const auto client : struck) {
    auto& what = unmasked_.at(client).what;
    if (federated::apply_event(e_, event, now_, what) && what.dropped) drop_unmasked(client, what.cause);
  }
  if (event.what == event_kind::heal) whom.visit([&](std::uint32_t client) { deliver_letters(client); });
}

// ---- letters -------------------------------------------------------------------------------------------------------

timeline::letter_fate timeline::fate_of(const privacy::secure_letter& letter) const {
  const auto& task = letter.task;
  const bool waits = unmasked_.contains(task.client);
  if (waits && letter.step == privacy::secure_step::abandon) return letter_fate::answered;
  if (members_.unresponsive(task.client)) return letter_fate::unanswered;
  if (members_.cut_off(task.client)) return letter_fate::kept;
  if (!members_.present(task.client)) return letter_fate::unanswered;
  if (std::ranges::find(past_.erasures, task.client) != past_.erasures.end()) return letter_fate::unanswered;
  if (e_.around == nullptr) return letter_fate::answered;
  const auto is_on = [&](virtual_time when) { return e_.around->presence->available(task.client, when, task.version); };
  // What is done at the instant at which a device goes off is done.
  if (is_on(now_) || (waits && now_ > 0 && is_on(now_ - 1))) return letter_fate::answered;
  return e_.settings.dropout->policy == dropout_policy::pause ? letter_fate::kept : letter_fate::unanswered;
}

void timeline::perform(protocol::send_letters& effect) {
  protocol::letters answers;
  for (auto& letter : effect.content.each) {
    const auto client = letter.task.client;
    const auto fate = fate_of(letter);
    if (fate == letter_fate::kept) {
      watch(letter.task, reachable_until(client, now_, letter.task.version));
      undelivered_[client].each.push_back(std::move(letter));
      continue;
    }
    secure_tasks::answer answer;
    if (fate == letter_fate::answered) answer = secrets_->secrets().on_letter(letter);
    const bool exchanges =
        letter.step == privacy::secure_step::neighbours || letter.step == privacy::secure_step::peers;
    if (exchanges && !answer.letter && !answer.ready && !answer.over) drop_unmasked(client);
    if (answer.letter) answers.each.push_back(std::move(*answer.letter));
    if (answer.ready || answer.over) end_unmasked(client, false);
  }
  if (!answers.each.empty()) queue(server_.on_letters(0, answers, now_));
}

void timeline::perform(protocol::remove_masks& effect) {
  effect.masks->apply(effect.sum);
  queue(server_.on_masks_removed(effect.version, std::move(effect.sum), now_));
}

}  // namespace furlong::federated
