// What the timeline does with the effects of its machines.
#include <algorithm>

#include "federated/settings/participation.hpp"
#include "federated/simulation/timeline.hpp"

namespace furlong::federated {

void timeline::perform_all() {
  while (performed_ < effects_.size() && !failure_) {
    auto effect = std::move(effects_[performed_++]);
    std::visit([&](auto& one) { perform(one); }, effect);
    if (needs_ == run_needs::evaluation || needs_ == run_needs::checkpoint) paused_ = true;
    if (paused_) break;  // always the last of its kind
  }
  if (performed_ < effects_.size()) return;
  effects_.clear();
  performed_ = 0;
}

void timeline::perform_share(std::uint32_t aggregator) {
  auto effects = std::exchange(share_effects_, {});
  for (auto& effect : effects) std::visit([&](auto& one) { perform(aggregator, one); }, effect);
  if (share_effects_.empty()) {  // keep its capacity
    effects.clear();
    share_effects_ = std::move(effects);
  }
}

void timeline::perform(protocol::assign& effect) {
  aggregators_[effect.aggregator].on_assignment(effect.from, effect.tasks, effect.begins, share_effects_);
  perform_share(effect.aggregator);
  for (const auto& id : effect.tasks) {
    const auto fate =
        members_.unresponsive(id.client)
            ? federated::fate{.ends_at = now_, .dropped = drop_stage::download, .cause = drop_cause::unresponsive}
            : draw_fate(e_, id, now_);
    live_task task{.what = {id, now_, fate.trained_at, fate.ends_at, fate.dropped, fate.cause},
                   .aggregator = effect.aggregator,
                   .from = effect.from};
    schedule_task(tasks_.insert_or_assign(id.client, std::move(task)).first->second);
  }
  if (!secrets_ || secrets_->secrets().enters_trained()) return;
  protocol::letters keys;
  for (const auto& id : effect.tasks)
    if (!members_.unresponsive(id.client)) keys.each.push_back(secrets_->secrets().enter(id, effect.from));
  queue(server_.on_letters(0, keys, now_));
}

void timeline::perform(protocol::close_share& effect) {
  if (e_.settings.participation->mode == participation_mode::sync)
    for (auto& [client, task] : tasks_) {
      if (task.aggregator != effect.aggregator) continue;
      task.closed = true;
      if (!needs_training(task)) task.from.reset();
    }
  aggregators_[effect.aggregator].on_close(effect.version, effect.enough, share_effects_);
  perform_share(effect.aggregator);
  if (!secrets_ || secrets_->secrets().enters_trained()) return;  // clients that wait do so for another version
  std::vector<std::uint32_t> waiting;
  for (const auto& [client, task] : unmasked_)
    if (task.aggregator == effect.aggregator) waiting.push_back(client);
  for (const auto client : waiting) end_unmasked(client, true);
}

void timeline::perform(protocol::timer& effect) {
  if (effect.at < never)
    entries_.push({effect.at, entry_kind::timer, 0, static_cast<std::uint32_t>(effect.what), effect.version, 0});
}

void timeline::perform(protocol::acknowledge& effect) {
  for (const auto& id : effect.tasks) {
    const auto at = held_.find(id.client);
    if (at == held_.end() || at->second.task != id) continue;
    auto& values = at->second;
    // The server has moved on to the next version: these values belong to the one before it.
    if (auto kept = store_.commit(id.client, effect.version, values.own.unpacked()); !kept)
      return fail_with(kept.error());
    server_.on_kept(id.client, id.version, values.trained_at);
  }
}

void timeline::perform(protocol::note& effect) {
  if (!observer_.on_event) return;
  if (auto reported = observer_.on_event(effect.event); !reported) fail_with(reported.error());
}

void timeline::perform(protocol::round_closed& effect) {
  held_.clear();  // what the round did not acknowledge never will be
  if (auto stored = store_kept_values(); !stored) return fail_with(stored.error());
  if (secrets_) secrets_->secrets().end_exchange();
  undelivered_.clear();  // of an exchange that is over
  if (!observer_.on_round) return;
  if (auto reported = observer_.on_round(effect.report); !reported) fail_with(reported.error());
}

void timeline::perform(protocol::proceed&) {
  if (stop_ != nullptr && stop_->load(std::memory_order_relaxed)) server_.stop();
  if (e_.model->may_fail() || e_.settings.participation->mode == participation_mode::sync) before_round_ = simulated();
  queue(server_.on_proceed());
}

void timeline::perform(protocol::finish& effect) {
  interrupted_ = effect.interrupted;
  needs_ = run_needs::nothing;
}

void timeline::perform(std::uint32_t aggregator, protocol::settled& effect) {
  for (const auto& task : effect.each)
    if (auto held = held_updates_.extract(task.id); !held.empty() && task.what != outcome::folded)
      orders_.push_back({.task = task.id, .aggregator = held.mapped(), .version = task.id.version});
  queue(server_.on_settled(aggregator, effect.each, now_));
}

void timeline::perform(std::uint32_t aggregator, protocol::add_update& effect) {
  // Added already, or nothing to add.
  if (held_updates_.erase(effect.task) == 0 || adding_ == add_mode::at_once) return;
  orders_.push_back({effect.task, aggregator, effect.version, effect.freshness, true});
}

void timeline::perform(std::uint32_t, partial_aggregate& effect) {
  if (adding_ == add_mode::by_run) return merge(std::move(effect));
  if (!effect.folded.empty()) return unsummed_.push_back(std::move(effect));
  effect.sums.words.assign(accumulated_words(e_), 0);
  merge(std::move(effect));
}

void timeline::merge(partial_aggregate&& partial) {
  auto next = server_.on_partial(std::move(partial), now_);
  if (!next) return fail_with(next.error());
  queue(std::move(*next));
}

// ---- updates that are added up elsewhere ---------------------------------------------------------------------------

update_use timeline::use_of(const live_task& task) const {
  if (adding_ == add_mode::by_run) return update_use::returned;
  // Without events a fate is final; of a closed round nothing counts any more.
  if (task.closed || (adding_ == add_mode::at_once && task.what.dropped)) return update_use::dropped;
  return adding_ == add_mode::at_once ? update_use::added : update_use::kept;
}

void timeline::take_adds(std::vector<add_order>& out) {
  out.insert(out.end(), orders_.begin(), orders_.end());
  orders_.clear();
}

/// A version waits for all its partials anyway: their sums are asked for together.
std::vector<std::uint32_t> timeline::sums_wanted() const {
  std::vector<std::uint32_t> wanted;
  if (unsummed_.size() < server_.partials_missing()) return wanted;
  for (const auto& partial : unsummed_) wanted.push_back(partial.aggregator);
  return wanted;
}

void timeline::on_sums(std::uint32_t aggregator, accumulator_state&& sums) {
  const auto found = std::ranges::find(unsummed_, aggregator, &partial_aggregate::aggregator);
  if (found == unsummed_.end()) return;
  auto partial = std::move(*found);
  unsummed_.erase(found);
  partial.sums = std::move(sums);
  auto& words = partial.sums.words;
  if (words.empty()) words.assign(accumulated_words(e_), 0);
  partial.weight = static_cast<std::uint64_t>(words[accumulator::weight_word]);
  partial.loss_fixed = words[accumulator::loss_word];
  merge(std::move(partial));
}

void timeline::on_evaluated(const evaluation_report& figures) {
  paused_ = false;
  needs_ = run_needs::training;
  queue(server_.on_evaluated(figures));
}

// ---- a model that fails -------------------------------------------------------------------------------------------

/// Of a round that has closed.
result<void> timeline::store_kept_values() {
  for (const auto& [client, own] : std::exchange(kept_, {}))
    if (auto stored = store_.commit(client, server_.state().version - 1, own.unpacked()); !stored) return stored;
  return {};
}

/// The model failed while a client trained, or the algorithm's step, or the policy: the run ends with the state before
/// this round, of which nothing is stored, where that is known.
void timeline::fail_round(error why) {
  if (failure_ || model_failure_) return;
  if (server_.state().version == 0 || !server_.knows_before_round()) return fail_with(std::move(why));
  model_failure_ = std::move(why);
  take_back_round();
}

void timeline::take_back_round() {
  taken_back_ = server_.before_round();
  taken_back_->simulation = std::move(before_round_);
  needs_ = run_needs::checkpoint;
  paused_ = true;
}

void timeline::on_evaluation_failed(error why) {
  model_failure_ = std::move(why);
  paused_ = false;
  needs_ = run_needs::training;
  queue(server_.on_evaluation_failed());
}

result<void> timeline::on_checkpointed() {
  if (model_failure_) {
    failure_ = std::move(model_failure_);
    return {};
  }
  if (taken_back_) {
    interrupted_ = true;
    needs_ = run_needs::nothing;
    return {};
  }
  paused_ = false;
  needs_ = run_needs::training;
  if (auto erased = erase_those_who_left(); !erased) return erased;
  queue(server_.on_checkpointed());
  return {};
}

}  // namespace furlong::federated
