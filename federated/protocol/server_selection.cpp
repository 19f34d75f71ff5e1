// Which clients the server selects, and when.
#include <algorithm>
#include <utility>

#include "federated/participation/checked_policy.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::protocol {

namespace {

constexpr std::uint32_t most_attempts = 4;  // of a client in one version
// If no client is connected the server selects again after growing intervals and finally abandons the round: no run
// waits forever.
constexpr virtual_time longest_retry = 3600 * microseconds_per_second;

}  // namespace

/// The first version in which a client can be selected: at most one update per client and version. An asynchronous run
/// may select a client that dropped out again, a few times.
std::uint64_t server_machine::first_version(const client_record& record) const {
  if (record.asked_version == 0) return 0;
  std::uint64_t first = 0;
  if (!is_async() || record.attempt + 1 >= most_attempts) first = record.asked_version;
  if (is_async()) first = std::max<std::uint64_t>(first, record.reported_version);
  if (!record.rested(state_.version, how().min_separation))
    first = std::max(first, std::uint64_t{record.asked_version} + how().min_separation - 1);
  return first;
}

/// When pace steering lets a client be selected again.
virtual_time server_machine::paced_until(std::uint32_t client) const {
  const auto& record = (*state_.ledger)[client];
  if (how().reconnect_most <= 0 || record.asked_version == 0) return 0;
  random_stream stream(e_.settings.seed, purpose::reconnect, record.asked_version, client, record.attempt);
  const double least = how().reconnect_least;
  const double wait = least + (how().reconnect_most - least) * static_cast<double>(stream.uniform());
  return record.ended_at + from_seconds(wait);
}

bool server_machine::is_eligible(std::uint32_t client) {
  if (tasks_.contains(client) || first_version((*state_.ledger)[client]) > state_.version) return false;
  if (state_.now < paced_until(client)) {
    paced_ = true;
    return false;
  }
  if (roster_ == nullptr) return true;
  const bool there = roster_->reachable(client, state_.now, state_.version) ||
                     (waits_for_every_task() && roster_->expected_until(client) > state_.now);
  note_probe(client, there);
  return there;
}

/// The same for the index, without a trace.
client_standing server_machine::standing_of(std::uint32_t client) const {
  using kind = client_standing::kind;
  if (tasks_.contains(client)) return {kind::busy};
  if (how().policy.traits.needs_examples && e_.participants->count(client, part::train) == 0) return {};
  if (const auto first = first_version((*state_.ledger)[client]); first > state_.version)
    return {kind::later_version, first};
  if (const auto until = paced_until(client); state_.now < until) return {kind::paced, 0, until};
  const bool there = roster_->reachable(client, state_.now, state_.version);
  return {there ? kind::eligible : kind::away, 0, roster_->reachable_until(client, state_.now, state_.version)};
}

/// Counts a client once per round, however often it is checked.
void server_machine::note_probe(std::uint32_t client, bool there) {
  ++probes_;
  if (probed_.insert(client)) ++report_.probed;
  if (there && reached_.insert(client)) ++report_.available;
}

/// Fails if the policy does.
result<std::vector<std::uint32_t>> server_machine::choose(std::size_t count) {
  selection wanted;
  wanted.count = static_cast<std::uint32_t>(std::min(count, e_.participants->training().size()));
  wanted.round = state_.version;
  wanted.ordinal = state_.counts.selected;
  paced_ = false;
  std::vector<std::uint32_t> chosen;
  if (choose_all(wanted.count, chosen)) return chosen;
  wanted.eligible = [this](std::uint32_t client) { return is_eligible(client); };
  auto by_policy = policy_->choose(wanted, *state_.ledger);
  if (by_policy) index_clients(*by_policy, wanted.count);
  return by_policy;
}

/// Of fewer eligible clients than are wanted every policy selects all, and looks at all others. The index tells it
/// without looking. False if it does not apply.
bool server_machine::choose_all(std::size_t count, std::vector<std::uint32_t>& chosen) {
  if (!index_) return false;
  const auto foresight = roster_->foresight();
  const bool next = std::exchange(indexed_version_, state_.version) != state_.version;
  if (next) index_->begin_round();
  // Availability that does not change in a round is drawn again for the next.
  if (foresight != foresight_ || (next && !roster_->waiting_helps())) index_->rebuild();
  foresight_ = foresight.value_or(0);
  index_->advance(state_.now, state_.version);
  if (index_->eligible().size() >= count) return false;
  paced_ = index_->has_paced();
  probes_ += index_->candidates();
  report_.probed += index_->add_candidates(probed_);
  chosen.assign(index_->eligible().begin(), index_->eligible().end());
  for (const auto client : chosen)
    if (reached_.insert(client)) ++report_.available;
  std::ranges::sort(chosen);
  return true;
}

/// Makes the index when it is needed first.
void server_machine::index_clients(const std::vector<std::uint32_t>& chosen, std::size_t count) {
  if (index_ || !is_async() || chosen.size() >= count || roster_ == nullptr) return;
  const auto foresight = roster_->foresight();
  if (!foresight) return;
  foresight_ = *foresight;
  indexed_version_ = state_.version;
  index_ = std::make_unique<eligible_clients>(e_.participants->training(),
                                              [this](std::uint32_t client) { return standing_of(client); });
}

/// The first instant before `next`, the next selection, at which a client becomes reachable that is so no more at
/// `next`; else `next`: after doubled pauses short windows of availability would be missed. A server that waits asks
/// this of all clients again and again: what it has foreseen of a client is kept while it holds.
virtual_time server_machine::first_short_window(virtual_time next) {
  const auto foresight = roster_->foresight();
  const bool next_version = std::exchange(outlooks_version_, state_.version) != state_.version;
  if (!foresight || *foresight != outlooks_stand_ || (next_version && !roster_->waiting_helps())) outlooks_.clear();
  outlooks_stand_ = foresight.value_or(0);
  const auto clients = e_.participants->training();
  outlooks_.resize(clients.size());
  auto first = next;
  for (std::size_t i = 0; i < clients.size(); ++i) {
    auto& seen = outlooks_[i];
    if (seen.until <= state_.now)
      seen = {roster_->reachable_until(clients[i], state_.now, state_.version),
              roster_->reachable(clients[i], state_.now, state_.version)};
    if (!seen.there && seen.until < first && roster_->reachable(clients[i], seen.until, state_.version) &&
        roster_->reachable_until(clients[i], seen.until, state_.version) <= next)
      first = seen.until;
  }
  return first;
}

void server_machine::retry_selection(server_effects& out, virtual_time at_latest) {
  const auto retry = std::max<virtual_time>(from_seconds(how().retry), 1);
  const auto after = std::min(retry << std::min(selections_, 20U), std::max(longest_retry, retry));
  if (!is_async() && !routed_ && selections_ == 0) {
    if (!remembers_) remember_round();
    waiting_since_start_ = true;
  }
  ++selections_;
  next_selection_ = std::min(state_.now + after, at_latest);
  if (after > retry && roster_ != nullptr) next_selection_ = first_short_window(next_selection_);
  out.emplace_back(timer{timer_kind::retry_selection, state_.version, next_selection_});
}

/// Selects a cohort of a policy that draws its size: all of its clients are awaited.
void server_machine::draw_cohort(server_effects& out) {
  const auto chosen = choose(how().per_round);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return;
  }
  if (!chosen->empty()) return assign_cohort(*chosen, chosen->size(), out);
  goal_ = 1;
  close_version(out);
}

void server_machine::select_clients(server_effects& out) {
  if (how().policy.traits.draws_cohort) return draw_cohort(out);
  const auto goal = how().per_round;
  const auto wanted = std::min<std::size_t>(asked_per_round(how()), e_.participants->training().size());
  const auto timeout = round_began_ + from_seconds(how().selection_timeout);
  const auto chosen = choose(wanted);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return;
  }
  if (chosen->size() < wanted && state_.now < timeout) return retry_selection(out, timeout);
  if (chosen->size() < std::max<std::size_t>(how().min_reports, 1)) {
    // With a timeout the wait ends here; without one, wait for the minimum of a round. If waiting does not help, select
    // once more: time must pass also in abandoned rounds.
    const auto at_latest = round_began_ + longest_wait;
    const bool may_succeed = paced_ || selections_ == 0 || (roster_ != nullptr && roster_->waiting_helps());
    const bool waits = how().selection_timeout == 0 && roster_ != nullptr && may_succeed;
    if (waits && state_.now < at_latest) return retry_selection(out, at_latest);
    goal_ = 1;
    return close_version(out);
  }
  assign_cohort(*chosen, goal, out);
}

/// Gives these clients their tasks; `goal` reports close the round.
void server_machine::assign_cohort(const std::vector<std::uint32_t>& chosen, std::size_t goal, server_effects& out) {
  goal_ = std::min<std::size_t>(goal, chosen.size());
  const auto tasks = create_tasks(chosen);
  shares_.await_tasks(tasks.size());
  begin_secure_round(tasks, out);
  assign_tasks(tasks, true, out);
  if (how().deadline > 0)
    out.emplace_back(timer{timer_kind::deadline, state_.version, state_.now + from_seconds(how().deadline)});
}

/// Asynchronous: creates tasks up to the configured number. False if there were too few clients; a policy that fails
/// ends the run.
bool server_machine::refill(server_effects& out) {
  if (secure_.is_begun()) return true;  // when the sum is there
  const auto busy = tasks_.size() - secure_.waiting();
  const std::size_t wanted = how().concurrency > busy ? how().concurrency - busy : 0;
  if (wanted == 0) return true;
  const auto chosen = choose(wanted);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return true;
  }
  if (!chosen->empty()) assign_tasks(create_tasks(*chosen), false, out);
  return chosen->size() == wanted;
}

}  // namespace furlong::federated::protocol
