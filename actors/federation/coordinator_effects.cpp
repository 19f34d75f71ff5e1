#include <algorithm>
#include <chrono>
#include <spdlog/spdlog.h>

#include "actors/federation/coordinator.hpp"
#include "federated/privacy/secure_aggregation/secure_server.hpp"

namespace furlong::actors::federation::coordination {

using federated::virtual_time;

namespace {

void end_with(coordinator_pointer self, result<federated::run_outcome> outcome, protocol::close_notice said) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  const auto notice = std::make_shared<const downward>(std::move(said));
  self->send(state.gateway, to_branch{notice});
  state.children->known().end_all(std::get<protocol::close_notice>(*notice));
  state.promise.deliver(run_result{std::make_shared<result<federated::run_outcome>>(std::move(outcome))});
  // The gateway tells it by the reason to nodes that come later. A run that failed is not over for them: they would end
  // with exit code 0.
  const auto& told = std::get<protocol::close_notice>(*notice);
  self->quit(told.final && !told.failed ? caf::exit_reason::normal : caf::exit_reason::user_shutdown);
}

}  // namespace

void end_run(coordinator_pointer self, result<federated::run_outcome> outcome, bool final) {
  end_with(self, std::move(outcome), {final ? run_is_over : "the server stops, and may come back", final});
}

void fail_run(coordinator_pointer self, error why) { end_run(self, tl::unexpected(std::move(why)), false); }

void fail_for_all(coordinator_pointer self, error why) {
  protocol::close_notice notice{"the run has failed: " + why.text(), true};
  notice.failed = true;
  end_with(self, tl::unexpected(std::move(why)), std::move(notice));
}

void send_down(coordinator_pointer self, std::uint32_t to, downward what) {
  auto& state = self->state;
  // A lost branch is skipped: the machine is notified of the loss separately.
  if (!state.branches.contains(to)) return;
  if (to != state.own) return state.children->known().send(to, what);
  self->send(state.gateway, to_branch{std::make_shared<const downward>(std::move(what))});
}

void continue_shutdown(coordinator_pointer self) {
  auto& state = self->state;
  if (!state.outcome || !state.promise.pending()) return;
  if (state.stop->load(std::memory_order_relaxed)) return end_run(self, std::move(*state.outcome), true);
  using enum protocol::run_shutdown::action;
  const protocol::close_notice notice{run_is_over, true};
  for (;;) {
    const bool all_reached = state.who->reached() == state.run->e.participants->training().size();
    switch (state.shutdown->next(steady_now(), all_reached, state.branches.size() - 1)) {
      case wait: return;
      case tell_others:
        state.children->known().leave();
        for (const auto& [number, branch] : state.branches)
          if (number != state.own) send_down(self, number, notice);
        break;
      case tell_own_gateway: send_down(self, state.own, notice); break;
      case end: return end_run(self, std::move(*state.outcome), true);
    }
  }
}

std::size_t send_requests(coordinator_pointer self, protocol::scoring_machine::requests by_branch) {
  std::size_t asked = 0;
  for (auto& [to, share] : by_branch) {
    asked += share.clients.size();
    send_down(self, to, std::move(share));
  }
  return asked;
}

namespace {

/// To where the clients are now. Those that are not reached ask again when they are.
void send_verdicts(coordinator_pointer self, const std::vector<federated::task_id>& tasks, protocol::verdict_kind what,
                   std::uint64_t version = 0, federated::rejection why = {}) {
  std::map<std::uint32_t, protocol::verdicts> by_branch;
  for (const auto& task : tasks)
    if (const auto to = self->state.who->route(task.client)) by_branch[*to].each.push_back({task, what, why});
  for (auto& [to, some] : by_branch) some.version = version;
  for (auto& [to, some] : by_branch) send_down(self, to, std::move(some));
}

void add_effects(coordinator_state& state, protocol::server_effects effects) {
  std::ranges::move(effects, std::back_inserter(state.effects));
}

/// The machine's state, and what only its shell knows.
federated::server_state snapshot(coordinator_pointer self) {
  auto saved = self->state.machine->snapshot();
  saved.kernel_levels = self->state.kernel_levels;
  saved.stores = self->state.stores;
  return saved;
}

void finish_evaluation(coordinator_pointer self) {
  auto& state = self->state;
  const auto done = std::exchange(state.evaluation, std::nullopt);
  const bool cut_short = done->cut_short(now(self));
  state.unevaluated = state.unevaluated || cut_short;
  if (done->missing() > 0)
    spdlog::warn("evaluation: {} clients sent no scores{}", done->missing(),
                 cut_short ? ", and the server stops: it counts for nothing" : "");
  state.last_evaluation = {};
  if (!cut_short) {
    state.last_evaluation = done->report();
    if (state.observer->on_evaluation)
      if (auto reported = state.observer->on_evaluation(state.last_evaluation); !reported)
        return fail_run(self, reported.error());
  }
  if (state.stop->load(std::memory_order_relaxed)) state.machine->stop();
  add_effects(state, state.machine->on_evaluated(state.last_evaluation));
}

void perform(coordinator_pointer self, protocol::assign& effect) {
  self->state.watch->train();
  send_down(self, effect.aggregator, std::move(effect));
}
void perform(coordinator_pointer self, protocol::close_share& effect) {
  send_down(self, effect.aggregator, protocol::close_request{effect.version, effect.enough});
}
void perform(coordinator_pointer self, protocol::withdraw& effect) {
  send_down(self, effect.aggregator, protocol::withdrawal{std::move(effect.tasks)});
}
void perform(coordinator_pointer self, protocol::timer& effect) {
  const auto wait = std::max<virtual_time>(effect.at - now(self), 0);
  self->delayed_send(self, std::chrono::microseconds(wait), alarm{effect});
}
void perform(coordinator_pointer self, protocol::acknowledge& effect) {
  send_verdicts(self, effect.tasks, protocol::verdict_kind::durable);
}
void perform(coordinator_pointer self, protocol::taken& effect) {
  send_verdicts(self, effect.tasks, protocol::verdict_kind::taken, effect.version);
}
void perform(coordinator_pointer self, protocol::decline& effect) {
  if (effect.why)
    send_verdicts(self, effect.tasks, protocol::verdict_kind::rejected, 0, *effect.why);
  else
    send_verdicts(self, effect.tasks, protocol::verdict_kind::unwanted);
}

void perform(coordinator_pointer self, protocol::send_letters& effect) {
  send_down(self, effect.aggregator, std::move(effect.content));
}
/// On a thread of its own: it takes seconds with many clients, and the nodes need answers meanwhile.
void perform(coordinator_pointer self, protocol::remove_masks& effect) {
  auto work = std::make_shared<protocol::remove_masks>(std::move(effect));
  const coordinator_actor back(self);
  self->spawn<caf::detached>([back, work](caf::event_based_actor*) {
    try {
      work->masks->apply(work->sum);
    } catch (const std::exception& problem) {
      spdlog::error("masks of the sum: {}", problem.what());
      work->sum.clear();  // no sum: the round is abandoned
    }
    caf::anon_send(back, masks_removed{work});
  });
}

void perform(coordinator_pointer self, protocol::note& effect) {
  const auto& on_event = self->state.observer->on_event;
  if (!on_event) return;
  if (auto reported = on_event(effect.event); !reported) fail_run(self, reported.error());
}

void perform(coordinator_pointer self, protocol::round_closed& effect) {
  auto& state = self->state;
  state.watch->pause();
  if (state.stop->load(std::memory_order_relaxed)) state.machine->stop();
  const auto& on_round = state.observer->on_round;
  if (!on_round) return;
  if (auto reported = on_round(effect.report); !reported) fail_run(self, reported.error());
}

/// Of a class of another program the next life has a correct one, and nodes wait for it. A part that breaks its
/// contract is in their programs too.
void perform(coordinator_pointer self, protocol::failed& effect) {
  if (effect.why.what == error::kind::model) return fail_run(self, std::move(effect.why));
  fail_for_all(self, std::move(effect.why));
}

void perform(coordinator_pointer self, protocol::evaluate&) {
  auto& state = self->state;
  state.watch->pause();
  auto& work = state.evaluation.emplace(state.run->e, *state.machine, *state.who, now(self));
  const auto asked = send_requests(self, work.ask(now(self)));
  if (state.settled_to_stop) work.on_stop(now(self));
  if (asked < work.size()) spdlog::info("evaluation: {} of {} clients are reached", asked, work.size());
  if (work.is_over(now(self))) finish_evaluation(self);
}

void perform(coordinator_pointer self, protocol::checkpoint&) { save_checkpoint(self); }
void perform(coordinator_pointer self, protocol::proceed&) {
  auto& state = self->state;
  if (state.stop->load(std::memory_order_relaxed)) state.machine->stop();
  add_effects(state, state.machine->on_proceed(now(self)));
}

void perform(coordinator_pointer self, protocol::finish& effect) {
  auto& state = self->state;
  auto last = snapshot(self);
  state.watch->pause();
  state.watch->tell(last);
  const bool interrupted = effect.interrupted || state.unevaluated;
  if (interrupted) state.last_evaluation = {};  // of a model that was not the final one
  federated::run_outcome outcome{std::move(last), state.last_evaluation, interrupted};
  if (interrupted) return end_run(self, std::move(outcome), false);  // they come back to the next life
  state.outcome = std::move(outcome);
  state.shutdown->begin(steady_now());
  continue_shutdown(self);
}

}  // namespace

void save_checkpoint(coordinator_pointer self) {
  auto& state = self->state;
  auto saved = snapshot(self);
  state.watch->pause();
  state.watch->tell(saved);
  if (state.observer->on_checkpoint)
    if (auto written = state.observer->on_checkpoint(saved); !written) return fail_run(self, written.error());
  state.covered = saved.version;
  for (const auto& [number, branch] : state.branches) send_down(self, number, protocol::checkpointed{saved.version});
  add_effects(state, state.machine->on_checkpointed());
}

void perform_all(coordinator_pointer self, protocol::server_effects effects) {
  auto& state = self->state;
  add_effects(state, std::move(effects));
  for (std::size_t next = 0; next < state.effects.size(); ++next) {
    auto effect = std::move(state.effects[next]);  // moved out: performing it may add others
    std::visit([&](auto& one) { perform(self, one); }, effect);
    if (!state.promise.pending()) break;
  }
  state.effects.clear();
}

void finish_evaluation_when_over(coordinator_pointer self) {
  auto& state = self->state;
  if (!state.evaluation || !state.evaluation->is_over(now(self))) return;
  finish_evaluation(self);
  perform_all(self, {});
}

}  // namespace furlong::actors::federation::coordination
