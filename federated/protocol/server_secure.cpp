// The server's part in secure aggregation: letters between clients and the round's secure_server, and the sum that is
// opened after all partial aggregates were merged.
#include <algorithm>
#include <map>

#include "federated/client/secure_update.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated::protocol {

void server_machine::begin_secure_round(const std::vector<task_id>& cohort, server_effects& out) {
  if (!e_.settings.privacy->secure_aggregation) return;
  privacy::known_inputs inputs{.terms = e_.terms, .fewest = fewest_in_sum(e_.settings)};
  for (const auto& id : cohort)
    if (const auto known = shelf_.model_digest(id.version)) inputs.models.emplace(id.version, *known);
  secure_.begin(std::make_unique<privacy::secure_server>(cohort, state_.version, e_.settings.privacy->adversary,
                                                         std::move(inputs), secret_source(e_, state_.version),
                                                         secure_.key_check()));
  limit_exchange(out);
}

/// Asynchronous: begins with the first clients whose updates fill the buffer.
void server_machine::begin_secure_buffer(server_effects& out) {
  if (secure_.is_begun() || !shares_.is_under_way() || secure_.waiting() == 0 || secure_.waiting() < cohort_.goal())
    return;
  const auto keys = secure_.take_waiting(cohort_.goal());
  std::vector<task_id> members;
  for (const auto& letter : keys) members.push_back(letter.task);
  begin_secure_round(members, out);
  for (const auto& letter : keys)
    if (!secure_.receive(letter)) secure_.exclude(letter.task);
}

/// Whether these keys are of a client that waits with its update for the next sum.
bool server_machine::fills_buffer(const privacy::secure_letter& keys) {
  if (!is_async() || keys.step != privacy::secure_step::keys || secure_.has(keys.task)) return false;
  if (tasks_.contains(keys.task)) secure_.add_waiting(keys);
  return true;
}

/// Whether the updates that a sum needs have arrived.
bool server_machine::has_all_updates() const {
  if (!is_async() || !e_.settings.privacy->secure_aggregation) return shares_.aggregated().size() >= cohort_.goal();
  return secure_.has_all(shares_.aggregated().size());
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
  if (!secure_.is_begun()) return;
  const bool sent_keys = secure_.exchanges_keys();
  for (const auto& id : secure_.stop_waiting())
    if (tasks_.contains(id)) secure_.exclude(id);
  if (sent_keys) limit_exchange(out);
  drop_excluded(out);
  after_settling(out);
}

server_effects server_machine::on_letters(std::uint32_t aggregator, const letters& what, virtual_time now) {
  state_.now = std::max(state_.now, now);
  server_effects effects;
  if (!e_.settings.privacy->secure_aggregation) return effects;  // a node made them up
  if (!secure_.is_begun() && !is_async()) return effects;
  for (const auto& letter : what.each) {
    record_.report().bytes_up += privacy::letter_bytes(letter);
    if (routed_ && roster_->route(letter.task.client) != aggregator) continue;  // late: it is sent again
    if (fills_buffer(letter) || secure_.receive(letter)) continue;
    if (tasks_.contains(letter.task)) secure_.exclude(letter.task);
  }
  begin_secure_buffer(effects);
  drop_excluded(effects);
  after_settling(effects);
  return effects;
}

/// A client that violates the protocol, such as one whose node lost its keys, has dropped out.
void server_machine::drop_excluded(server_effects& out) {
  if (!routed_) {
    for (const auto& id : secure_.take_excluded())
      if (tasks_.contains(id)) settle_here(id, outcome::dropped, drop_stage::upload);
    return;
  }
  for (const auto& id : secure_.excluded()) {
    const auto* const task = tasks_.find(id);
    if (task == nullptr || task->aggregator == nowhere) continue;
    if (tasks_.withdraw(id)) out.emplace_back(withdraw{task->aggregator, {id}});
  }
}

void server_machine::begin_unmasking(server_effects& out) {
  shares_.sort_aggregated();
  if (secure_.begin_unmasking(shares_.aggregated()))
    out.emplace_back(
        timer{timer_kind::unmasking, state_.version, state_.now + from_seconds(e_.settings.network->task_timeout)});
  send_letters_to_clients(out);
}

/// Sends the pending letters, and continues the round if it can.
void server_machine::send_letters_to_clients(server_effects& out) {
  std::map<std::uint32_t, letters> by_branch;
  for (auto& letter : secure_.take_letters()) {
    const auto to = routed_ ? roster_->route(letter.task.client) : std::optional(0U);
    if (!to) continue;
    record_.report().bytes_down += privacy::letter_bytes(letter);
    by_branch[*to].each.push_back(std::move(letter));
  }
  for (auto& [to, some] : by_branch) out.emplace_back(send_letters{to, std::move(some)});
  if (secure_.has_failed()) {
    if (secure_.end_unmasking())
      finish_version(out);
    else if (shares_.is_under_way())
      close_shares(false, out);
  } else if (auto masks = secure_.removal()) {
    out.emplace_back(remove_masks{state_.version, std::move(masks), sum_->take().words});
  }
}

/// The clients first to last are reached again: requests to them may have been lost, or their secrets with another
/// process.
void server_machine::request_shares_again(std::uint32_t first, std::uint32_t last, const std::set<task_id>& holding,
                                          server_effects& out) {
  if (!secure_.is_unmasking()) return;
  for (const auto& id : shares_.aggregated())
    if (first <= id.client && id.client <= last) secure_.ask_again(id, holding.contains(id));
  send_letters_to_clients(out);
}

server_effects server_machine::on_masks_removed(std::uint64_t version, std::vector<std::int64_t> sum,
                                                virtual_time now) {
  server_effects effects;
  if (!secure_.is_removing() || version != state_.version) return effects;
  state_.now = std::max(state_.now, now);
  if (auto opened = sum_->open(std::move(sum), shares_.aggregated().size()); !opened) {
    secure_.fail(opened.error().reason);
    send_letters_to_clients(effects);
    return effects;
  }
  static_cast<void>(secure_.end_unmasking());
  finish_version(effects);
  return effects;
}

}  // namespace furlong::federated::protocol
