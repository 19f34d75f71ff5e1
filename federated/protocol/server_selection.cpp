// When the server selects clients, and how many.
#include <algorithm>
#include <utility>

#include "federated/protocol/server_machine.hpp"
#include "federated/settings/participation.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::protocol {

void server_machine::retry_selection(server_effects& out, virtual_time at_latest) {
  const auto retry = std::max<virtual_time>(from_seconds(how().retry), 1);
  if (!is_async() && !routed_ && !cohort_.is_retrying()) {
    if (!memory_.remembers()) remember_round();
    cohort_.await_first();
  }
  const auto pause = cohort_.pause(retry);
  auto next = std::min(state_.now + pause, at_latest);
  if (pause > retry && roster_ != nullptr) next = windows_.first_before(next, state_.now, state_.version);
  cohort_.retry_at(next);
  out.emplace_back(timer{timer_kind::retry_selection, state_.version, next});
}

/// Selects a cohort of a policy that draws its size: all of its clients are awaited.
void server_machine::draw_cohort(server_effects& out) {
  const auto chosen = selector_.choose(how().per_round);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return;
  }
  if (!chosen->empty()) return assign_cohort(*chosen, chosen->size(), out);
  cohort_.set_goal(1);
  close_version(out);
}

void server_machine::select_clients(server_effects& out) {
  if (how().policy.traits.draws_cohort) return draw_cohort(out);
  const auto goal = how().per_round;
  const auto wanted = std::min<std::size_t>(asked_per_round(how()), e_.participants->training().size());
  const auto timeout = cohort_.began_at() + from_seconds(how().selection_timeout);
  const auto chosen = selector_.choose(wanted);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return;
  }
  if (chosen->size() < wanted && state_.now < timeout) return retry_selection(out, timeout);
  if (chosen->size() < std::max<std::size_t>(how().min_reports, 1)) {
    // With a timeout the wait ends here; without one, wait for the minimum of a round. If waiting does not help, select
    // once more: time must pass also in abandoned rounds.
    const auto at_latest = cohort_.began_at() + longest_wait;
    const bool may_succeed =
        selector_.has_paced() || !cohort_.is_retrying() || (roster_ != nullptr && roster_->waiting_helps());
    const bool waits = how().selection_timeout == 0 && roster_ != nullptr && may_succeed;
    if (waits && state_.now < at_latest) return retry_selection(out, at_latest);
    cohort_.set_goal(1);
    return close_version(out);
  }
  assign_cohort(*chosen, goal, out);
}

/// Gives these clients their tasks; `goal` reports close the round.
void server_machine::assign_cohort(const std::vector<std::uint32_t>& chosen, std::size_t goal, server_effects& out) {
  cohort_.set_goal(std::min<std::size_t>(goal, chosen.size()));
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
  const auto chosen = selector_.choose(wanted);
  if (!chosen) {
    out.emplace_back(failed{chosen.error()});
    return true;
  }
  if (!chosen->empty()) assign_tasks(create_tasks(*chosen), false, out);
  return chosen->size() == wanted;
}

}  // namespace furlong::federated::protocol
