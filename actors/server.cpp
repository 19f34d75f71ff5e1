#include "actors/server.hpp"

#include "actors/aggregator.hpp"
#include "actors/evaluator.hpp"

namespace furlong::actors {

namespace {

namespace protocol = federated::protocol;
using self_pointer = server_actor::stateful_pointer<server_state>;

double seconds_since(server_state::clock::time_point start) {
  return std::chrono::duration<double>(server_state::clock::now() - start).count();
}

/// Keeps the promise and ends all actors of the run.
void end_run(self_pointer self, result<federated::run_outcome> outcome) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  state.promise.deliver(run_result{std::make_shared<result<federated::run_outcome>>(std::move(outcome))});
  for (const auto& aggregator : state.aggregators) self->send_exit(aggregator, caf::exit_reason::user_shutdown);
  for (const auto& evaluator : state.evaluators) self->send_exit(evaluator, caf::exit_reason::user_shutdown);
  self->quit();
}

void fail_run(self_pointer self, error why) { end_run(self, tl::unexpected(std::move(why))); }

void perform_all(self_pointer self, protocol::server_effects effects);

protocol::server_state state_now(const server_state& state) {
  auto now = state.machine->snapshot();
  now.wall_seconds = state.wall_before + seconds_since(state.begun);
  now.cpu_seconds = state.cpu_before + federated::process_cpu_seconds();
  now.train_seconds = state.train_seconds;
  now.train_cpu_seconds = state.train_cpu_seconds;
  return now;
}

void perform(self_pointer self, protocol::assign& effect) {
  if (effect.aggregator == 0) {
    self->state.round_begun = server_state::clock::now();
    self->state.round_cpu_begun = federated::process_cpu_seconds();
  }
  self->send(
      self->state.aggregators[effect.aggregator],
      share{std::move(effect.from), std::make_shared<const std::vector<std::uint32_t>>(std::move(effect.clients))});
}

void perform(self_pointer self, protocol::round_closed& effect) {
  auto& state = self->state;
  state.train_seconds += seconds_since(state.round_begun);
  state.train_cpu_seconds += federated::process_cpu_seconds() - state.round_cpu_begun;
  if (state.run->stop.load(std::memory_order_relaxed)) state.machine->stop();
  const auto& on_round = state.run->observer.on_round;
  if (!on_round) return;
  if (auto told = on_round(effect.report); !told) fail_run(self, told.error());
}

void perform(self_pointer self, protocol::evaluate&) {
  auto& state = self->state;
  const auto& now = state.machine->state();
  state.evaluation = std::make_shared<evaluation_work>(state.run->e, now.model, state.run->store, now.version);
  state.evaluators_pending = state.evaluators.size();
  for (const auto& evaluator : state.evaluators) self->send(evaluator, evaluation_share{state.evaluation});
}

void perform(self_pointer self, protocol::checkpoint&) {
  auto& run = *self->state.run;
  if (auto synced = run.store.sync(); !synced) return fail_run(self, synced.error());
  auto snapshot = state_now(self->state);
  if (run.observer.on_checkpoint)
    if (auto written = run.observer.on_checkpoint(snapshot); !written) return fail_run(self, written.error());
  run.store.covered(snapshot.version);
  perform_all(self, self->state.machine->on_checkpointed());
}

void perform(self_pointer self, protocol::finish& effect) {
  auto& state = self->state;
  if (effect.interrupted) state.last_evaluation = {};  // of a model that was not the final one
  end_run(self, federated::run_outcome{state_now(state), state.last_evaluation, effect.interrupted});
}

void perform_all(self_pointer self, protocol::server_effects effects) {
  for (auto& effect : effects) {
    std::visit([&](auto& one) { perform(self, one); }, effect);
    if (!self->state.promise.pending()) return;
  }
}

void on_evaluation_done(self_pointer self, const evaluation_done& done) {
  auto& state = self->state;
  if (done.failure) return fail_run(self, *done.failure);
  if (--state.evaluators_pending > 0) return;
  state.last_evaluation = state.evaluation->scores.report();
  state.evaluation.reset();
  if (const auto& on_evaluation_of = state.run->observer.on_evaluation)
    if (auto told = on_evaluation_of(state.last_evaluation); !told) return fail_run(self, told.error());
  if (state.run->stop.load(std::memory_order_relaxed)) state.machine->stop();
  perform_all(self, state.machine->on_evaluated());
}

}  // namespace

server_actor::behavior_type server_behavior(self_pointer self, const run_context* run,
                                            std::shared_ptr<protocol::server_state> start) {
  auto& state = self->state;
  state.run = run;
  state.wall_before = start->wall_seconds;
  state.cpu_before = start->cpu_seconds - federated::process_cpu_seconds();
  state.train_seconds = start->train_seconds;
  state.train_cpu_seconds = start->train_cpu_seconds;
  state.machine.emplace(run->e, std::move(*start));
  for (std::uint32_t a = 0; a < run->e.settings.aggregators; ++a)
    state.aggregators.push_back(self->spawn<caf::linked>(aggregator_behavior, run, server_actor(self), a));
  for (std::size_t i = 0; i < run->threads; ++i)
    state.evaluators.push_back(self->spawn<caf::linked>(evaluator_behavior, server_actor(self)));
  return {
      [self](const run_request&) {
        self->state.promise = self->make_response_promise<run_result>();
        self->state.begun = server_state::clock::now();
        perform_all(self, self->state.machine->start());
        return self->state.promise;
      },
      [self](const partial& got) {
        if (self->state.run->stop.load(std::memory_order_relaxed)) self->state.machine->stop();
        auto effects = self->state.machine->on_partial(std::move(*got.sums), got.bytes_up);
        if (!effects) return fail_run(self, effects.error());
        perform_all(self, std::move(*effects));
      },
      [self](const evaluation_done& done) { on_evaluation_done(self, done); },
  };
}

}  // namespace furlong::actors
