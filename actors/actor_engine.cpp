#include "actors/actor_engine.hpp"

#include <algorithm>
#include <chrono>

#include "actors/block_size.hpp"
#include "actors/interfaces.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::actors {

namespace {

// Two blocks in flight per thread, so that no thread waits while the run advances.
constexpr std::size_t trainers_per_thread = 2;
// Maximum of results that wait for their time and of jobs in flight, for each thread: memory stays O(model + this).
constexpr std::size_t most_blocks_ahead = 8;
constexpr std::size_t least_jobs_ahead = 64;  // where blocks are small, because jobs are long

/// The jobs that a run has at a time.
std::size_t jobs_at_once(const federated::experiment& experiment) {
  const auto& participation = *experiment.settings.participation;
  return participation.mode == federated::participation_mode::async ? participation.concurrency
                                                                    : participation.per_round;
}

trainer_actor::behavior_type trainer_behavior(trainer_actor::pointer self, const run_context* run, driver_actor parent);
evaluator_actor::behavior_type evaluator_behavior(evaluator_actor::pointer self, evaluation_client parent);

/// The threads of this process: trainers and evaluators of a driver, which belongs to the same scheduler, so that
/// `threads` processors are used and not one more.
class thread_pool final : public federated::work_pool {
 public:
  thread_pool(driver_actor::pointer driver, const run_context& run)
      : driver_(driver), threads_(run.threads), block_(jobs_at_once(run.e), run.threads) {
    for (std::size_t i = 0; i < trainers_per_thread * run.threads; ++i)
      idle_.push_back({driver->spawn<caf::linked>(trainer_behavior, &run, driver_actor(driver)),
                       {std::make_shared<std::vector<federated::training_job>>()}});
    trainers_ = idle_.size();
    for (std::size_t i = 0; i < run.threads; ++i)
      evaluators_.push_back(driver->spawn<caf::linked>(evaluator_behavior, evaluation_client(driver)));
  }

  [[nodiscard]] std::size_t wanted(std::size_t ahead) const override {
    const bool all_idle = idle_.size() == trainers_;
    const auto limit = threads_ * std::max(block_.jobs() * most_blocks_ahead, least_jobs_ahead);
    return idle_.empty() || (ahead >= limit && !all_idle) ? 0 : block_.jobs();
  }
  void train(std::vector<federated::training_job>& jobs) override {
    auto next = std::move(idle_.back());
    idle_.pop_back();
    next.block.jobs->swap(jobs);
    driver_->send(next.actor, std::move(next.block));
  }
  void score(federated::evaluation_work_ptr work) override {
    failure_ = nullptr;
    scoring_ = evaluators_.size();
    for (const auto& evaluator : evaluators_) driver_->send(evaluator, evaluation_share{work});
  }

  /// A trainer is done with its block.
  void on_idle(trainer_actor trainer, job_block done) {
    block_.on_done(done.jobs->size(), done.seconds);
    idle_.push_back({std::move(trainer), std::move(done)});
  }
  /// An evaluator is done. True if all are.
  [[nodiscard]] bool on_scored(const std::shared_ptr<const error>& failure) {
    const bool of_model = failure && failure->what == error::kind::model;
    if (failure && (!failure_ || (failure_->what == error::kind::model && !of_model))) failure_ = failure;
    return --scoring_ == 0;
  }
  /// Why the evaluation failed: the model, unless there is another reason; null: it did not.
  [[nodiscard]] const std::shared_ptr<const error>& failure() const { return failure_; }
  /// Ends the evaluators; trainers are linked.
  void end() {
    for (const auto& evaluator : evaluators_) driver_->send_exit(evaluator, caf::exit_reason::user_shutdown);
  }

 private:
  /// With its last block, whose memory is used again.
  struct idle_trainer {
    trainer_actor actor;
    job_block block;
  };
  driver_actor::pointer driver_;
  std::vector<idle_trainer> idle_;
  std::vector<evaluator_actor> evaluators_;
  std::size_t trainers_ = 0;
  std::size_t threads_;
  block_size block_;
  std::size_t scoring_ = 0;  ///< evaluators at work
  std::shared_ptr<const error> failure_;
};

/// The shell around federated::run_driver.
struct driver_state {
  std::optional<federated::run_driver> driver;
  std::optional<thread_pool> pool;
  caf::typed_response_promise<run_result> promise;
};

using self_pointer = driver_actor::stateful_pointer<driver_state>;

void end_run(self_pointer self, result<federated::run_outcome> outcome) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  state.promise.deliver(run_result{std::make_shared<result<federated::run_outcome>>(std::move(outcome))});
  state.pool->end();
  self->quit();
}

void go_on(self_pointer self) {
  auto& state = self->state;
  const auto over = state.driver->go_on(*state.pool);
  if (!over) return end_run(self, tl::unexpected(over.error()));
  if (*over) end_run(self, state.driver->outcome());
}

// ---- trainers and evaluators ---------------------------------------------------------------------------------------

/// Does whatever jobs it is sent.
trainer_actor::behavior_type trainer_behavior(trainer_actor::pointer self, const run_context* run,
                                              driver_actor parent) {
  return {
      [self, run, parent](const job_block& given) {
        const auto begun = std::chrono::steady_clock::now();
        for (auto& job : *given.jobs) {
          auto failed = guarded("client", [&] { federated::perform(run->e, run->store, job, thread_workspace()); });
          if (failed) job.failure = std::move(failed);
        }
        const std::chrono::duration<double> lasted = std::chrono::steady_clock::now() - begun;
        self->send(parent, job_block{given.jobs, lasted.count()});
      },
  };
}

std::shared_ptr<const error> score_rest(federated::evaluation_work& work) {
  const auto done = work.score_rest(thread_workspace());
  return done ? nullptr : std::make_shared<const error>(done.error());
}

/// Scores clients of a shared evaluation until none is left.
evaluator_actor::behavior_type evaluator_behavior(evaluator_actor::pointer self, evaluation_client parent) {
  return {
      [self, parent](const evaluation_share& given) {
        self->send(parent, evaluation_done{guarded("evaluation", [&] { return score_rest(*given.work); })});
      },
  };
}

driver_actor::behavior_type driver_behavior(self_pointer self, const run_context* run,
                                            std::shared_ptr<federated::server_state> start) {
  self->state.driver.emplace(run->e, std::move(*start), run->store, run->observer, run->stop);
  self->state.pool.emplace(self, *run);
  return {
      [self](const run_request&) {
        self->state.promise = self->make_response_promise<run_result>();
        go_on(self);
        return self->state.promise;
      },
      [self](const job_block& done) {
        auto& state = self->state;
        state.driver->on_trained(*done.jobs);
        state.pool->on_idle(caf::actor_cast<trainer_actor>(self->current_sender()), done);
        go_on(self);
      },
      [self](const evaluation_done& done) {
        auto& state = self->state;
        if (!state.pool->on_scored(done.failure)) return;
        if (auto scored = state.driver->on_scored(state.pool->failure()); !scored)
          return end_run(self, tl::unexpected(scored.error()));
        go_on(self);
      },
  };
}

}  // namespace

federated::workspace& thread_workspace() {
  thread_local federated::workspace space;
  return space;
}

result<federated::run_outcome> run_actors(const federated::experiment& e, federated::server_state start,
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
    auto from = std::make_shared<federated::server_state>(std::move(start));
    return run_to_end(self, self->spawn(driver_behavior, &run, std::move(from)), "actor engine",
                      "the run's driver ended: ");
  }();
  system.await_all_actors_done();
  return outcome;
}

}  // namespace furlong::actors
