#include <algorithm>
#include <cmath>

#include "federated/privacy/server_noise.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

server_effects server_machine::on_settled(std::uint32_t aggregator, const std::vector<settlement>& settled,
                                          virtual_time now) {
  state_.now = std::max(state_.now, now);
  for (const auto& one : settled) settle(aggregator, one);
  server_effects effects;
  after_settling(effects);
  return effects;
}

void server_machine::send_declines(server_effects& out) {
  if (auto unused = verdicts_.take_unused(); !unused.empty()) out.emplace_back(decline{std::move(unused)});
  for (auto& [reason, tasks] : verdicts_.take_rejected()) out.emplace_back(decline{std::move(tasks), reason});
}

void server_machine::after_settling(server_effects& out) {
  send_declines(out);
  send_letters_to_clients(out);
  if (!shares_.is_under_way()) return;
  // Aggregators that are routed to do not know when their share is over: more tasks may come.
  const bool all_ended = !is_async() && shares_.all_ended();
  if (all_ended ? routed_ : has_all_updates()) return close_shares(true, out);
  // Clients that wait for a sum do so until the run is resumed.
  if (is_async() && routed_ && stopping_ && !secure_.is_begun() && tasks_.size() == secure_.waiting())
    return close_shares(true, out);
  // When it has looked before, a timer is running.
  if (is_async() && !refill(out) && !cohort_.is_retrying()) retry_selection(out, never);
}

void server_machine::settle(std::uint32_t aggregator, const settlement& one) {
  const auto* const open = tasks_.find(one.id);
  if (open == nullptr || open->aggregator != aggregator) return;  // reported twice
  // Outside of its share: no partial will have it.
  if (one.what == outcome::folded && !shares_.is_awaited(aggregator)) return;
  const auto task = *open;
  tasks_.end(one.id);
  if (one.what != outcome::folded) {
    tasks_.remove_holder(one.id.client);
    secure_.leave(one.id);
  }
  if (needs_model(task)) shelf_.release(task.id.version);
  const bool failed = one.what == outcome::rejected && one.why == rejection::client_failed;
  count_settlement(e_, one, task.aggregator != nowhere && one.what != outcome::dropped && !failed, state_,
                   record_.report());
  if (routed_ && one.what != outcome::folded) memory_.end_task(task);
  if (one.what == outcome::folded) {
    shares_.aggregate(aggregator, one);
  } else if (one.what == outcome::rejected) {
    shares_.reject(one);
  }
  if (routed_ && one.what == outcome::rejected) {
    // Not sent by its gateway: if that were lost before it told the server, the node would get the task again.
    verdicts_.add_rejected(one.id, one.why);
  } else if (routed_ && one.what != outcome::folded) {
    // A gateway tells its nodes of reports that came too late. Others who hold the task still must hear of it too.
    const auto there = roster_->route(one.id.client);
    if (there && (one.what == outcome::dropped || *there != aggregator)) verdicts_.add_unused(one.id);
  }
  selector_.on_task(one.id.client);
  if (!is_async() && !task.closed) shares_.end_task();
  record_.add_settlement(task, one, state_.now, state_.version);
}

void server_machine::on_kept(std::uint32_t client, std::uint64_t version, virtual_time when) {
  auto& of = state_.ledger->touch(client);
  of.trained_version = static_cast<std::uint32_t>(version + 1);
  of.trained_at = when;
}

void server_machine::close_shares(bool enough, server_effects& out) {
  const auto aggregators = shares_.close(waits_for_every_task());
  if (!is_async())
    for (const auto& task : tasks_.close(enough))
      if (!needs_model(task)) shelf_.release(task.id.version);
  for (const auto aggregator : aggregators) out.emplace_back(close_share{aggregator, state_.version, enough});
  if (shares_.all_merged()) close_version(out);  // all aggregators with shares were lost
}

server_effects server_machine::on_stop(virtual_time now) {
  stopping_ = true;
  state_.now = std::max(state_.now, now);
  if (!is_async() && cohort_.stop_waiting()) return {checkpoint{}};  // for clients, which may never connect
  server_effects effects;
  if (cohort_.is_prolonged())
    finish_version(effects);
  else
    after_settling(effects);
  return effects;
}

server_effects server_machine::on_timer(const timer& which, virtual_time now) {
  server_effects effects;
  if (which.what == timer_kind::orphaned) {
    state_.now = std::max(state_.now, now);
    drop_expired_orphans(effects);
    return effects;
  }
  if (which.version != state_.version) return effects;
  if (which.what == timer_kind::exchange) {
    state_.now = std::max(state_.now, now);
    end_exchange(effects);
    return effects;
  }
  if (cohort_.is_prolonged()) {
    if (which.what != timer_kind::retry_selection) return effects;
    state_.now = std::max(state_.now, now);
    finish_version(effects);
    return effects;
  }
  if (which.what == timer_kind::unmasking) {
    state_.now = std::max(state_.now, now);
    if (secure_.is_unmasking()) secure_.fail("too few clients gave shares of the masks in time");
    send_letters_to_clients(effects);
    return effects;
  }
  if (shares_.is_closing()) return effects;
  if (which.what == timer_kind::retry_selection && routed_) {  // a client that joined may have set another one
    if (!cohort_.is_next(which.at)) return effects;
    cohort_.stop_waiting();
  }
  state_.now = std::max(state_.now, now);
  if (which.what == timer_kind::deadline) {
    if (shares_.is_open()) close_shares(false, effects);
    return effects;
  }
  if (!is_async()) {
    select_clients(effects);
    return effects;
  }
  const auto looks = selector_.looks();
  if (refill(effects)) {
    cohort_.restart();
  } else if ((tasks_.empty() && !selector_.has_paced() &&
              (!shares_.aggregated().empty() || selector_.looks() == looks || !roster_->waiting_helps())) ||
             state_.now >= cohort_.began_at() + longest_wait) {
    // No open task and no client to select: the aggregated updates make a version. The same if there are none but all
    // clients had a task in this version, or after the longest wait.
    close_shares(true, effects);
  } else {
    retry_selection(effects, never);
  }
  return effects;
}

}  // namespace furlong::federated::protocol
