#include "actors/actor_engine.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/interfaces.hpp"
#include "federated/settings/participation.hpp"
#include "federated/stopwatch.hpp"

namespace furlong::actors {

namespace {

using federated::run_needs;

/// The shell around federated::virtual_run: distributes its jobs, calls the observer.
struct timeline_state {
  /// An idle trainer, with its last block.
  struct idle_trainer {
    trainer_actor actor;
    job_block jobs;
  };
  const run_context* run = nullptr;
  std::vector<evaluator_actor> evaluators;
  caf::typed_response_promise<run_result> promise;
  std::shared_ptr<evaluation_work> evaluation;
  std::size_t evaluators_pending = 0;
  std::shared_ptr<const error> evaluation_failure;  ///< of the model
  federated::evaluation_report last_evaluation;
  std::optional<federated::stopwatch> watch;
  std::unique_ptr<federated::virtual_run> line;
  std::vector<idle_trainer> idle;
  std::size_t trainers = 0;
  std::size_t block_size = 1;

  [[nodiscard]] bool stop_requested() const { return run->stop.load(std::memory_order_relaxed); }
  /// Prepares the evaluation for the evaluators.
  void prepare_evaluation(const federated::protocol::model_version& of, const federated::participation_ledger* ledger) {
    watch->pause();
    evaluation = std::make_shared<evaluation_work>(run->e, of, run->store, ledger);
    evaluators_pending = evaluators.size();
  }
  /// An evaluator is done. True if all are: the observer has then been called, or the model has failed.
  [[nodiscard]] result<bool> finish_evaluation(const evaluation_done& done) {
    if (done.failure && done.failure->what != error::kind::model) return tl::unexpected(*done.failure);
    if (done.failure && !evaluation_failure) evaluation_failure = done.failure;
    if (--evaluators_pending > 0) return false;
    if (evaluation_failure) {
      evaluation.reset();
      return true;
    }
    last_evaluation = evaluation->scores.report();
    evaluation.reset();
    if (run->observer.on_evaluation)
      if (auto reported = run->observer.on_evaluation(last_evaluation); !reported)
        return tl::unexpected(reported.error());
    return true;
  }
  /// Makes private values and `state` durable.
  [[nodiscard]] result<void> save(federated::protocol::server_state state) {
    watch->pause();
    auto saved = run->store.save(state.version);
    if (!saved) return tl::unexpected(saved.error());
    state.private_save = *saved;
    watch->tell(state);
    if (run->observer.on_checkpoint)
      if (auto written = run->observer.on_checkpoint(state); !written) return written;
    run->store.covered(state.version);
    return {};
  }
  [[nodiscard]] federated::run_outcome outcome(federated::protocol::server_state state, bool interrupted) {
    watch->pause();
    watch->tell(state);
    if (interrupted) last_evaluation = {};  // it was not of the final model
    return {std::move(state), last_evaluation, interrupted};
  }
};

using self_pointer = timeline_actor::stateful_pointer<timeline_state>;

// A message costs as much as a tenth of a small client's training, so jobs are sent in blocks.
constexpr std::size_t most_jobs_in_block = 8;
constexpr std::size_t blocks_per_thread = 4;
// Two blocks in flight per thread, so that no thread waits while the timeline advances.
constexpr std::size_t trainers_per_thread = 2;
// Maximum of results that wait for their time and of jobs in flight: memory stays O(model + this).
constexpr std::size_t most_blocks_ahead = 8;

std::size_t block_size_for(const run_context& run) {
  const auto& how = *run.e.settings.participation;
  const auto at_once = how.mode == federated::participation_mode::async ? how.concurrency : how.per_round;
  return std::clamp<std::size_t>(at_once / (blocks_per_thread * run.threads), 1, most_jobs_in_block);
}

void end_run(self_pointer self, result<federated::run_outcome> outcome) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  state.promise.deliver(run_result{std::make_shared<result<federated::run_outcome>>(std::move(outcome))});
  for (const auto& evaluator : state.evaluators) self->send_exit(evaluator, caf::exit_reason::user_shutdown);
  self->quit();  // trainers are linked
}

/// Distributes jobs as far ahead as results may wait. At least one job is in flight while a result is needed.
void assign_blocks(self_pointer self) {
  auto& state = self->state;
  const auto limit = state.block_size * most_blocks_ahead * state.run->threads;
  while (!state.idle.empty()) {
    const bool all_idle = state.idle.size() == state.trainers;
    if (state.line->ahead() >= limit && !all_idle) return;
    auto& next = state.idle.back();
    next.jobs->clear();
    state.line->take_jobs(state.block_size, *next.jobs);
    if (next.jobs->empty()) return;
    self->send(next.actor, std::move(next.jobs));
    state.idle.pop_back();
    if (state.line->ahead() >= limit) return;
  }
}

/// Advances until it waits for results or evaluators, or the run ends.
void advance(self_pointer self) {
  auto& state = self->state;
  for (;;) {
    if (state.stop_requested()) state.line->stop();
    state.watch->train();
    const auto needs = state.line->advance();
    if (!needs) return end_run(self, tl::unexpected(needs.error()));
    switch (*needs) {
      case run_needs::training: return assign_blocks(self);
      case run_needs::evaluation:
        state.prepare_evaluation(state.line->under_test(), state.line->state().ledger.get());
        state.evaluation->scores.exclude(state.line->leaving());
        state.evaluation->scores.leave_out(state.line->unresponsive());
        for (const auto& evaluator : state.evaluators) self->send(evaluator, evaluation_share{state.evaluation});
        return;
      case run_needs::checkpoint: {
        auto saved = state.save(state.line->snapshot());
        if (saved) saved = state.line->on_checkpointed();
        if (!saved) return end_run(self, tl::unexpected(saved.error()));
        break;
      }
      case run_needs::nothing:
        if (const auto* scored = state.line->scored()) state.last_evaluation = *scored;
        return end_run(self, state.outcome(state.line->snapshot(), state.line->interrupted()));
    }
  }
}

void on_evaluation_done(self_pointer self, const evaluation_done& done) {
  auto& state = self->state;
  const auto complete = state.finish_evaluation(done);
  if (!complete) return end_run(self, tl::unexpected(complete.error()));
  if (!*complete) return;
  if (state.evaluation_failure)
    state.line->on_evaluation_failed(*state.evaluation_failure);
  else
    state.line->on_evaluated(state.last_evaluation);
  advance(self);
}

// ---- trainers and evaluators ---------------------------------------------------------------------------------------

/// Does whatever jobs it is sent.
trainer_actor::behavior_type trainer_behavior(trainer_actor::pointer self, const run_context* run,
                                              timeline_actor parent) {
  return {
      [self, run, parent](const job_block& given) {
        for (auto& job : *given) {
          auto failed = guarded("client", [&] { federated::perform(run->e, run->store, job, thread_workspace()); });
          if (failed) job.failure = std::move(failed);
        }
        self->send(parent, given);
      },
  };
}

std::shared_ptr<const error> score_all(evaluation_work& work) {
  auto& use = thread_workspace();
  for (std::size_t i = work.next++; i < work.scores.size(); i = work.next++)
    if (auto done = work.scores.score(i, use); !done) return std::make_shared<const error>(done.error());
  return nullptr;
}

/// Scores clients of a shared evaluation until none is left.
evaluator_actor::behavior_type evaluator_behavior(evaluator_actor::pointer self, evaluation_client parent) {
  return {
      [self, parent](const evaluation_share& given) {
        self->send(parent, evaluation_done{guarded("evaluation", [&] { return score_all(*given.work); })});
      },
  };
}

timeline_actor::behavior_type timeline_behavior(self_pointer self, const run_context* run,
                                                std::shared_ptr<federated::protocol::server_state> start) {
  auto& state = self->state;
  state.run = run;
  state.block_size = block_size_for(*run);
  state.trainers = trainers_per_thread * run->threads;
  state.watch.emplace(*start);
  state.line = federated::make_virtual_run(run->e, std::move(*start), run->store, run->observer);
  state.line->stop_when(run->stop);
  for (std::size_t i = 0; i < state.trainers; ++i)
    state.idle.push_back({self->spawn<caf::linked>(trainer_behavior, run, timeline_actor(self)),
                          std::make_shared<std::vector<federated::training_job>>()});
  for (std::size_t i = 0; i < run->threads; ++i)
    state.evaluators.push_back(self->spawn<caf::linked>(evaluator_behavior, evaluation_client(self)));
  return {
      [self](const run_request&) {
        self->state.promise = self->make_response_promise<run_result>();
        advance(self);
        return self->state.promise;
      },
      [self](const job_block& done) {
        auto& of = self->state;
        for (auto& job : *done) of.line->on_trained(std::move(job));
        of.idle.push_back({caf::actor_cast<trainer_actor>(self->current_sender()), done});
        // The timeline does not advance during an evaluation.
        if (of.evaluation == nullptr) advance(self);
      },
      [self](const evaluation_done& done) { on_evaluation_done(self, done); },
  };
}

}  // namespace

federated::workspace& thread_workspace() {
  thread_local federated::workspace space;
  return space;
}

result<federated::run_outcome> run_actors(const federated::experiment& e, federated::protocol::server_state start,
                                          federated::private_store& store, const federated::run_observer& observer,
                                          const std::atomic<bool>& stop, const engine_options& options) {
  caf::actor_system_config config;
  config.add_message_types<caf::id_block::furlong>();
  // The default work-stealing queue is quadratic in the fan-out.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("scheduler.max-threads", options.threads);
  config.set("logger.verbosity", caf::atom("quiet"));
  caf::actor_system system(config);
  const run_context run{e, store, observer, stop, options.threads};

  auto outcome = [&] {
    caf::scoped_actor self(system);
    auto from = std::make_shared<federated::protocol::server_state>(std::move(start));
    return run_to_end(self, self->spawn(timeline_behavior, &run, std::move(from)), "actor engine",
                      "the run's driver ended: ");
  }();
  system.await_all_actors_done();
  return outcome;
}

}  // namespace furlong::actors
