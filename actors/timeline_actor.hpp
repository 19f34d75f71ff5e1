// The timeline actor: runs a federation in one process, with training on all scheduler threads.
#pragma once

#include "actors/interfaces.hpp"
#include "federated/stopwatch.hpp"

namespace furlong::actors {

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
  /// An evaluator is done. True if all are; the observer has then been called.
  [[nodiscard]] result<bool> finish_evaluation(const evaluation_done& done) {
    if (done.failure) return tl::unexpected(*done.failure);
    if (--evaluators_pending > 0) return false;
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

timeline_actor::behavior_type timeline_behavior(timeline_actor::stateful_pointer<timeline_state> self,
                                                const run_context* run,
                                                std::shared_ptr<federated::protocol::server_state> start);

}  // namespace furlong::actors
