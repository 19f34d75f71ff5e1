#include "federated/protocol/aggregator_machine.hpp"

#include <algorithm>

#include "federated/attack/collusion.hpp"
#include "federated/experiment/staleness.hpp"
#include "federated/privacy/clipping.hpp"
#include "federated/rounds/round.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

aggregator_machine::aggregator_machine(const experiment& e, std::uint32_t number, closing when, adding where)
    : e_(e), number_(number), when_(when), where_(where), longest_(longest_update(e.settings)) {
  if (e.participants)
    examples_of_ = [who = e.participants](std::uint32_t client) {
      return std::optional<std::uint64_t>(who->count(client, part::train));
    };
}

void aggregator_machine::on_assignment(const broadcast_ptr& from, const std::vector<task_id>& tasks, bool begins,
                                       aggregator_effects& out) {
  if (begins) {
    if (where_ == adding::here) begin_sum(*from);
    from_ = from;
    longest_ = longest_update(e_, from->model);
    forget_settled();
    partial_ = {};
    partial_.run = from->run;
    partial_.version = from->version;
    partial_.aggregator = number_;
    sent_ = false;
    for (const auto& update : std::exchange(early_, {})) static_cast<void>(on_update(update, out));
    for (const auto& report : std::exchange(early_reports_, {})) static_cast<void>(on_report(report, out));
  }
  for (const auto& task : tasks) tasks_[task.client] = {.id = task, .limits = from->limits};
  open_ += tasks.size();
  send_up_when_settled(out);
}

void aggregator_machine::begin_sum(const broadcast& start) {
  // Without constants of the rule an accumulator depends on the settings only, so the emptied one is reused.
  if (!sum_ || !start.reference.empty()) sum_ = make_accumulator(e_, start.reference);
  if (sum_->is_blind() || !sum_->is_empty()) static_cast<void>(sum_->take());
  hold_back_bad_updates(e_, start.version, *sum_);
}

bool aggregator_machine::is_async() const { return e_.settings.participation->mode == participation_mode::async; }

/// Forgets settled tasks; open tasks of closed shares stay.
void aggregator_machine::forget_settled() {
  for (const auto client : settled_here_)
    if (const auto at = tasks_.find(client); at != tasks_.end() && at->second.settled) tasks_.erase(at);
  settled_here_.clear();
  if (!is_async()) open_before_ += std::exchange(open_, 0);
}

void aggregator_machine::restore(const open_task& task, const update_limits& limits) {
  tasks_[task.id.client] = {task.id, false, task.closed, task.surplus, limits};
  ++(is_async() ? open_ : open_before_);
}

void aggregator_machine::send_up_when_settled(aggregator_effects& out) {
  if (!sent_ && !is_async() && when_ == closing::by_itself && open_ == 0) send_up(out);
}

aggregator_machine::known_task* aggregator_machine::find(const task_id& id, rejection& why) {
  why = rejection::unknown_task;
  if (id.run != e_.run) return nullptr;
  const auto at = tasks_.find(id.client);
  if (at == tasks_.end() || at->second.id.version != id.version) {
    if (from_ && id.version != from_->version) why = rejection::stale_version;
    return nullptr;
  }
  if (at->second.id.attempt != id.attempt) return nullptr;
  if (!at->second.settled) return &at->second;
  why = rejection::duplicate;
  return nullptr;
}

/// Validates and aggregates an update. Returns the reason if it is rejected.
std::optional<rejection> aggregator_machine::try_fold(const client_update& update, const update_limits& limits,
                                                      settlement& made) {
  if (is_too_stale(update.id)) return rejection::stale_version;
  if (sum_->is_blind()) {
    if (update.masked_for != from_->version) return rejection::stale_version;  // of an exchange that was abandoned
    return sum_->fold(update);
  }
  const auto examples = examples_of_ ? examples_of_(update.id.client) : std::nullopt;
  const auto bounds = bounds_of(e_, longest_, limits, examples);
  return aggregate_update(e_, update, bounds, freshness_of(update.id), *sum_, made);
}

/// For the current share, as is the next.
bool aggregator_machine::is_too_stale(const task_id& id) const {
  const auto most = e_.settings.participation->max_staleness;
  return is_async() && most != 0 && from_->version - id.version > most;
}

double aggregator_machine::freshness_of(const task_id& id) const {
  return is_async() ? staleness_weight(*e_.settings.participation, from_->version - id.version) : 1.0;
}

std::optional<rejection> aggregator_machine::on_update(const client_update& update, aggregator_effects& out,
                                                       std::optional<std::uint64_t> bytes) {
  rejection stranger{};
  auto* task = find(update.id, stranger);
  if (task == nullptr) return stranger;
  if (is_async() && sent_) {
    if (std::ranges::find(early_, update.id, &client_update::id) != early_.end()) return rejection::duplicate;
    early_.push_back(update);
    return std::nullopt;
  }
  auto what = settlement_of(e_, update, bytes);
  std::optional<rejection> refused;
  if (task->closed) {
    what.what = task->surplus ? outcome::surplus : outcome::late;
  } else {
    refused = try_fold(update, task->limits, what);
    what.what = refused ? outcome::rejected : outcome::folded;
    if (refused) what.why = *refused;
  }
  settle(*task, what, out);
  return refused;
}

std::optional<rejection> aggregator_machine::on_report(const settlement& report, aggregator_effects& out) {
  rejection stranger{};
  auto* task = find(report.id, stranger);
  if (task == nullptr) return stranger;
  if (is_async() && sent_) {
    if (std::ranges::find(early_reports_, report.id, &settlement::id) != early_reports_.end())
      return rejection::duplicate;
    early_reports_.push_back(report);
    return std::nullopt;
  }
  auto told = report;
  const auto give_verdict = [&](outcome verdict) {  // in place of that of the report, with which its measures go
    told.what = verdict;
    told.why = {};
    told.size = {};
    told.distances.clear();
  };
  if (task->closed) {
    give_verdict(task->surplus ? outcome::surplus : outcome::late);
  } else if (is_too_stale(report.id)) {
    give_verdict(outcome::rejected);
    told.why = rejection::stale_version;
  } else if (report.what == outcome::folded) {
    out.emplace_back(add_update{report.id, from_->version, freshness_of(report.id)});
  }
  const auto refused = told.what == outcome::rejected ? std::optional(told.why) : std::nullopt;
  settle(*task, std::move(told), out);
  return refused;
}

void aggregator_machine::on_unwanted(const task_id& id, std::uint64_t bytes, aggregator_effects& out) {
  rejection stranger{};
  auto* task = find(id, stranger);
  if (task == nullptr || !task->closed) return;
  settlement what;
  what.what = task->surplus ? outcome::surplus : outcome::late;
  what.bytes = bytes;
  settle(*task, what, out);
}

void aggregator_machine::on_failure(const task_id& id, aggregator_effects& out) {
  rejection stranger{};
  auto* task = find(id, stranger);
  if (task == nullptr) return;
  settlement what;
  what.what = outcome::rejected;
  what.why = rejection::client_failed;
  settle(*task, what, out);
}

void aggregator_machine::on_drop(const task_id& id, drop_stage stage, aggregator_effects& out) {
  rejection stranger{};
  auto* task = find(id, stranger);
  if (task == nullptr) return;
  settlement what;
  what.what = outcome::dropped;
  what.stage = stage;
  settle(*task, what, out);
}

void aggregator_machine::on_withdraw(const std::vector<task_id>& tasks, aggregator_effects& out) {
  withdrawn back;
  for (const auto& id : tasks) {
    rejection stranger{};
    const auto* task = find(id, stranger);
    if (task == nullptr) continue;
    --(task->closed && !is_async() ? open_before_ : open_);
    tasks_.erase(id.client);
    back.tasks.push_back(id);
  }
  out.emplace_back(std::move(back));
  send_up_when_settled(out);
}

void aggregator_machine::settle(known_task& task, settlement what, aggregator_effects& out) {
  what.id = task.id;
  const member who{task.id.client, task.id.attempt};
  if (what.what == outcome::folded) {
    partial_.folded.push_back(who);
    partial_.examples += what.examples;
  } else if (what.what == outcome::rejected) {
    partial_.refused.push_back({who, what.why});
  }
  out.emplace_back(settled{{std::move(what)}});
  if (task.closed && !is_async()) {
    --open_before_;
    tasks_.erase(task.id.client);
  } else {
    task.settled = true;
    settled_here_.push_back(task.id.client);
    --open_;
  }
  send_up_when_settled(out);
}

void aggregator_machine::on_close(std::uint64_t version, bool enough, aggregator_effects& out) {
  if (sent_ || !from_ || from_->version != version) return;  // it was already sent
  if (!is_async()) {
    for (auto& [client, task] : tasks_) {
      if (task.settled || task.closed) continue;
      task.closed = true;
      task.surplus = enough;
    }
    open_before_ += std::exchange(open_, 0);
  }
  send_up(out);
}

void aggregator_machine::send_up(aggregator_effects& out) {
  sent_ = true;
  std::ranges::sort(partial_.folded);
  std::ranges::sort(partial_.refused, {}, [](const refused_member& m) { return m.who; });
  if (where_ == adding::here) {
    if (!sum_->is_blind()) {
      partial_.weight = sum_->weight();
      partial_.loss_fixed = sum_->loss_fixed();
    }
    partial_.sums = sum_->take();
  }
  out.emplace_back(std::move(partial_));
}

}  // namespace furlong::federated::protocol
