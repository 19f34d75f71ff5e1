// The server's part in secure aggregation: letters between clients and the round's secure_server, and the sum that is
// opened after all partial aggregates were merged.
#include <algorithm>

#include "federated/client/secure_update.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

using privacy::secure_server;

void server_machine::begin_secure_round(const std::vector<task_id>& cohort, server_effects& out) {
  if (!e_.settings.privacy->secure_aggregation) return;
  privacy::known_inputs inputs{.terms = e_.terms, .fewest = fewest_in_sum(e_.settings)};
  for (const auto& id : cohort)
    if (const auto known = shelf_.model_digest(id.version)) inputs.models.emplace(id.version, *known);
  secure_ = std::make_unique<secure_server>(cohort, state_.version, e_.settings.privacy->adversary, std::move(inputs),
                                            secret_source(e_, state_.version), key_check_);
  limit_exchange(out);
}

/// Asynchronous: begins with the first clients whose updates fill the buffer.
void server_machine::begin_secure_buffer(server_effects& out) {
  if (secure_ || !shares_.is_under_way() || waiting_.empty() || waiting_.size() < goal_) return;
  const auto last = waiting_.begin() + static_cast<std::ptrdiff_t>(goal_);
  const privacy::secure_letters keys(std::make_move_iterator(waiting_.begin()), std::make_move_iterator(last));
  waiting_.erase(waiting_.begin(), last);
  std::vector<task_id> members;
  for (const auto& letter : keys) members.push_back(letter.task);
  begin_secure_round(members, out);
  for (const auto& letter : keys)
    if (!secure_->on_letter(letter, letters_)) excluded_.push_back(letter.task);
}

/// Whether these keys are of a client that waits with its update for the next sum.
bool server_machine::fills_buffer(const privacy::secure_letter& keys) {
  if (!is_async() || keys.step != privacy::secure_step::keys || (secure_ && secure_->has(keys.task))) return false;
  if (!tasks_.contains(keys.task)) return true;
  if (keys.content.size() > privacy::longest_keys) {
    excluded_.push_back(keys.task);
    return true;
  }
  const auto known = std::ranges::find(waiting_, keys.task, &privacy::secure_letter::task);
  if (known == waiting_.end())
    waiting_.push_back(keys);
  else
    known->content = keys.content;
  return true;
}

/// Whether the updates that a sum needs have arrived.
bool server_machine::has_all_updates() const {
  if (!is_async() || !e_.settings.privacy->secure_aggregation) return shares_.aggregated().size() >= goal_;
  return secure_ && secure_->at() == secure_server::stage::masking && shares_.aggregated().size() >= secure_->present();
}

/// Clients that exchange neither keys nor shares for so long have dropped out. In one process letters take no time.
void server_machine::limit_exchange(server_effects& out) {
  if (!routed_) return;
  const auto most = how().deadline > 0 ? std::min(how().deadline, e_.settings.network->task_timeout)
                                       : e_.settings.network->task_timeout;
  constexpr double share = 0.25;  // for each of two letters: half of the time is left for the updates
  out.emplace_back(timer{timer_kind::exchange, state_.version, state_.now + from_seconds(share * most)});
}

void server_machine::end_exchange(server_effects& out) {
  if (!secure_) return;
  const bool sent_keys = secure_->at() == secure_server::stage::keys;
  for (const auto& id : secure_->stop_waiting(letters_))
    if (tasks_.contains(id)) excluded_.push_back(id);
  if (sent_keys) limit_exchange(out);
  drop_excluded(out);
  after_settling(out);
}

/// The task has ended without an update.
void server_machine::leave_secure_round(const task_id& id) {
  std::erase_if(waiting_, [&](const auto& letter) { return letter.task == id; });
  if (secure_) secure_->on_gone(id, letters_);
}

bool server_machine::is_excluded(const task_id& id) const {
  return std::ranges::find(excluded_, id) != excluded_.end();
}

server_effects server_machine::on_letters(std::uint32_t aggregator, const letters& what, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  if (!secure_ && !is_async()) return effects;
  for (const auto& letter : what.each) {
    report_.bytes_up += privacy::letter_bytes(letter);
    if (routed_ && roster_->route(letter.task.client) != aggregator) continue;  // late: it is sent again
    if (fills_buffer(letter) || !secure_ || secure_->on_letter(letter, letters_)) continue;
    if (tasks_.contains(letter.task)) excluded_.push_back(letter.task);
  }
  begin_secure_buffer(effects);
  drop_excluded(effects);
  after_settling(effects);
  return effects;
}

/// A client that violates the protocol, such as one whose node lost its keys, has dropped out.
void server_machine::drop_excluded(server_effects& out) {
  if (!routed_) {
    for (const auto& id : std::exchange(excluded_, {}))
      if (tasks_.contains(id)) settle_here(id, outcome::dropped, drop_stage::upload);
    return;
  }
  for (const auto& id : excluded_) {
    const auto* const task = tasks_.find(id);
    if (task == nullptr || task->aggregator == nowhere) continue;
    if (tasks_.withdraw(id)) out.emplace_back(withdraw{task->aggregator, {id}});
  }
}

void server_machine::begin_unmasking(server_effects& out) {
  unmasking_ = true;
  shares_.sort_aggregated();
  secure_->begin_unmasking(shares_.aggregated(), letters_);
  if (secure_->at() == secure_server::stage::unmasking)
    out.emplace_back(
        timer{timer_kind::unmasking, state_.version, state_.now + from_seconds(e_.settings.network->task_timeout)});
  send_letters_to_clients(out);
}

/// Sends the pending letters, and continues the round if it can.
void server_machine::send_letters_to_clients(server_effects& out) {
  std::map<std::uint32_t, letters> by_branch;
  for (auto& letter : std::exchange(letters_, {})) {
    const auto to = routed_ ? roster_->route(letter.task.client) : std::optional(0U);
    if (!to) continue;
    report_.bytes_down += privacy::letter_bytes(letter);
    by_branch[*to].each.push_back(std::move(letter));
  }
  for (auto& [to, some] : by_branch) out.emplace_back(send_letters{to, std::move(some)});
  if (!secure_ || opened_) return;
  if (secure_->at() == secure_server::stage::failed) {
    if (unmasking_) {
      unmasking_ = false;
      finish_version(out);
    } else if (shares_.is_under_way()) {
      close_shares(false, out);
    }
  } else if (secure_->at() == secure_server::stage::open) {
    opened_ = true;
    out.emplace_back(remove_masks{state_.version, std::make_shared<const privacy::mask_removal>(secure_->removal()),
                                  sum_->take().words});
  }
}

/// The clients first to last are reached again: requests to them may have been lost, or their secrets with another
/// process.
void server_machine::request_shares_again(std::uint32_t first, std::uint32_t last, const std::set<task_id>& holding,
                                          server_effects& out) {
  if (!unmasking_ || opened_) return;
  for (const auto& id : shares_.aggregated()) {
    if (id.client < first || id.client > last) continue;
    if (!holding.contains(id))
      secure_->on_gone(id, letters_);
    else if (auto request = secure_->unanswered(id))
      letters_.push_back(std::move(*request));
  }
  send_letters_to_clients(out);
}

server_effects server_machine::on_masks_removed(std::uint64_t version, std::vector<std::int64_t> sum,
                                                virtual_time now) {
  server_effects effects;
  if (!unmasking_ || !opened_ || version != state_.version) return effects;
  state_.now = std::max(state_.now, now);
  if (auto opened = sum_->open(std::move(sum), shares_.aggregated().size()); !opened) {
    opened_ = false;
    secure_->fail(opened.error().reason, letters_);
    send_letters_to_clients(effects);
    return effects;
  }
  unmasking_ = false;
  finish_version(effects);
  return effects;
}

}  // namespace furlong::federated::protocol
