#include "actors/server.hpp"

#include "actors/aggregator.hpp"
#include "actors/evaluator.hpp"

namespace furlong::actors {

namespace {

namespace protocol = federated::protocol;
using self_pointer = server_actor::stateful_pointer<server_state>;

// Without deadlines no event depends on the time, and outputs contain no wall times.
constexpr federated::virtual_time no_time = 0;

/// Fulfils the promise and ends all actors of the run.
void end_run(self_pointer self, result<federated::run_outcome> outcome) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  state.promise.deliver(run_result{std::make_shared<result<federated::run_outcome>>(std::move(outcome))});
  for (const auto& aggregator : state.aggregators) self->send_exit(aggregator, caf::exit_reason::user_shutdown);
  for (const auto& evaluator : state.evaluators) self->send_exit(evaluator, caf::exit_reason::user_shutdown);
  self->quit();
}

void fail_run(self_pointer self, error why) { end_run(self, tl::unexpected(std::move(why))); }

void perform(self_pointer self, protocol::assign& effect) {
  self->state.watch->train();
  self->send(
      self->state.aggregators[effect.aggregator],
      share{std::move(effect.from), std::make_shared<const std::vector<federated::task_id>>(std::move(effect.tasks))});
}

// A round under the real clock ends when all its clients have reported: no closing, timers or acknowledgements.
void perform(self_pointer, protocol::close_share&) {}
void perform(self_pointer, protocol::timer&) {}
void perform(self_pointer, protocol::acknowledge&) {}
void perform(self_pointer, protocol::taken&) {}
void perform(self_pointer, protocol::decline&) {}
void perform(self_pointer, protocol::withdraw&) {}

void perform(self_pointer self, protocol::note& effect) {
  const auto& on_event = self->state.run->observer.on_event;
  if (!on_event) return;
  if (auto told = on_event(effect.event); !told) fail_run(self, told.error());
}

void perform(self_pointer self, protocol::round_closed& effect) {
  auto& state = self->state;
  state.watch->pause();
  if (state.stop_requested()) state.machine->stop();
  const auto& on_round = state.run->observer.on_round;
  if (!on_round) return;
  if (auto told = on_round(effect.report); !told) fail_run(self, told.error());
}

void perform(self_pointer self, protocol::evaluate&) {
  auto& state = self->state;
  state.prepare_evaluation(state.machine->under_test(), state.machine->state().ledger.get());
  for (const auto& evaluator : state.evaluators) self->send(evaluator, evaluation_share{state.evaluation});
}

void perform(self_pointer self, protocol::checkpoint&) {
  auto& state = self->state;
  if (auto saved = state.save(state.machine->snapshot()); !saved) return fail_run(self, saved.error());
  state.effects.add(state.machine->on_checkpointed());
}

void perform(self_pointer self, protocol::proceed&) { self->state.effects.add(self->state.machine->on_proceed()); }

void perform(self_pointer self, protocol::finish& effect) {
  auto& state = self->state;
  end_run(self, state.outcome(state.machine->snapshot(), effect.interrupted));
}

void perform_all(self_pointer self, protocol::server_effects effects) {
  auto& state = self->state;
  state.effects.add(std::move(effects));
  state.effects.perform_all([&](auto& one) { perform(self, one); }, [&] { return state.promise.pending(); });
}

void on_partial(self_pointer self, protocol::send_partial& got) {
  auto& machine = *self->state.machine;
  if (self->state.stop_requested()) machine.stop();
  auto settled = machine.on_settled(got.partial.aggregator, got.settled, no_time);
  auto effects = machine.on_partial(std::move(got.partial), no_time);
  if (!effects) return fail_run(self, effects.error());
  self->state.effects.add(std::move(settled));
  perform_all(self, std::move(*effects));
}

void on_evaluation_done(self_pointer self, const evaluation_done& done) {
  auto& state = self->state;
  const auto complete = state.finish_evaluation(done);
  if (!complete) return fail_run(self, complete.error());
  if (!*complete) return;
  if (state.stop_requested()) state.machine->stop();
  perform_all(self, state.machine->on_evaluated(state.last_evaluation));
}

}  // namespace

server_actor::behavior_type server_behavior(self_pointer self, const run_context* run,
                                            std::shared_ptr<protocol::server_state> start) {
  auto& state = self->state;
  state.run = run;
  state.watch.emplace(*start);
  state.machine.emplace(run->e, std::move(*start));
  for (std::uint32_t a = 0; a < run->e.settings.aggregators; ++a)
    state.aggregators.push_back(self->spawn<caf::linked>(aggregator_behavior, run, server_actor(self), a));
  for (std::size_t i = 0; i < run->threads; ++i)
    state.evaluators.push_back(self->spawn<caf::linked>(evaluator_behavior, evaluation_client(self)));
  return {
      [self](const run_request&) {
        self->state.promise = self->make_response_promise<run_result>();
        perform_all(self, self->state.machine->start());
        return self->state.promise;
      },
      [self](const partial& got) { on_partial(self, *got.content); },
      [self](const evaluation_done& done) { on_evaluation_done(self, done); },
  };
}

}  // namespace furlong::actors
