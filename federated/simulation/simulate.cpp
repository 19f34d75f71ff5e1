#include "federated/simulation/simulate.hpp"

#include "federated/simulation/virtual_run.hpp"
#include "federated/stopwatch.hpp"

namespace furlong::federated {

namespace {

class serial_run {
 public:
  serial_run(const experiment& e, protocol::server_state start, private_store& store, const run_observer& observer)
      : e_(e),
        store_(store),
        observer_(observer),
        watch_(start),
        line_(make_virtual_run(e, std::move(start), store, observer)) {}

  result<run_outcome> run(const std::atomic<bool>& stop) {
    line_->stop_when(stop);
    for (;;) {
      if (stop.load(std::memory_order_relaxed)) line_->stop();
      watch_.train();
      const auto needs = line_->advance();
      if (!needs) return tl::unexpected(needs.error());
      if (*needs == run_needs::training) {
        train();
        continue;
      }
      watch_.pause();
      if (*needs == run_needs::nothing) return outcome();
      if (auto done = *needs == run_needs::evaluation ? evaluate() : save(); !done) return tl::unexpected(done.error());
    }
  }

 private:
  void train() {
    line_->take_jobs(1, jobs_);
    perform(e_, store_, jobs_.back(), use_);
    line_->on_trained(std::move(jobs_.back()));
    jobs_.clear();
  }

  result<void> evaluate() {
    const auto of = line_->under_test();
    evaluation scores(e_, of, &store_, line_->state().ledger.get());
    scores.exclude(line_->leaving());
    scores.leave_out(line_->unresponsive());
    if (auto done = scores.score_all(use_); !done) {
      if (done.error().what != error::kind::model) return done;
      line_->on_evaluation_failed(done.error());
      return {};
    }
    last_ = scores.report();
    if (observer_.on_evaluation)
      if (auto reported = observer_.on_evaluation(last_); !reported) return reported;
    line_->on_evaluated(last_);
    return {};
  }

  result<void> save() {
    auto state = line_->snapshot();
    auto saved = store_.save(state.version);
    if (!saved) return tl::unexpected(saved.error());
    state.private_save = *saved;
    watch_.tell(state);
    if (observer_.on_checkpoint)
      if (auto written = observer_.on_checkpoint(state); !written) return written;
    store_.covered(state.version);
    return line_->on_checkpointed();
  }

  run_outcome outcome() {
    run_outcome made{line_->snapshot(), line_->scored() ? *line_->scored() : last_, line_->interrupted()};
    watch_.tell(made.state);
    if (made.interrupted) made.evaluation = {};
    return made;
  }

  const experiment& e_;
  private_store& store_;
  const run_observer& observer_;
  stopwatch watch_;
  std::unique_ptr<virtual_run> line_;
  workspace use_;
  std::vector<training_job> jobs_;
  evaluation_report last_;
};

}  // namespace

result<run_outcome> simulate(const experiment& e, protocol::server_state start, private_store& store,
                             const run_observer& observer, const std::atomic<bool>& stop) {
  return serial_run(e, std::move(start), store, observer).run(stop);
}

}  // namespace furlong::federated
