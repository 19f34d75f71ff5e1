#include "federated/engine/run_driver.hpp"

#include <utility>

#include "federated/engine/virtual_run.hpp"

namespace furlong::federated {

result<void> evaluation_work::score_rest(workspace& use) {
  for (std::size_t i = next_++; i < scores_.size(); i = next_++)
    if (auto done = scores_.score(i, use); !done) {
      next_ = scores_.size();
      return done;
    }
  return {};
}

run_driver::run_driver(const experiment& e, server_state start, private_store& store, const run_observer& observer,
                       const std::atomic<bool>& stop, add_mode mode)
    : e_(e),
      store_(store),
      observer_(observer),
      stop_(stop),
      watch_(start),
      line_(make_virtual_run(e, std::move(start), store, observer, mode)) {
  line_->stop_when(stop);
}

result<bool> run_driver::go_on(work_pool& pool) {
  while (!is_scoring()) {
    if (stop_.load(std::memory_order_relaxed)) line_->stop();
    watch_.train();
    const auto needs = line_->advance();
    if (!needs) return tl::unexpected(needs.error());
    give_orders(pool);
    switch (*needs) {
      case run_needs::training: hand_out(pool); return false;
      case run_needs::sums:
        collect(pool);
        hand_out(pool);
        return false;
      case run_needs::evaluation: begin_evaluation(pool); break;
      case run_needs::checkpoint:
        if (auto saved = save(); !saved) return tl::unexpected(saved.error());
        break;
      case run_needs::nothing: return true;
    }
  }
  return false;
}

void run_driver::hand_out(work_pool& pool) {
  while (const auto count = pool.wanted(line_->ahead())) {
    jobs_.clear();
    line_->take_jobs(count, jobs_);
    if (jobs_.empty()) return;
    pool.train(jobs_);
  }
}

void run_driver::give_orders(work_pool& pool) {
  orders_.clear();
  line_->take_adds(orders_);
  if (!orders_.empty()) pool.add(orders_);
}

void run_driver::collect(work_pool& pool) {
  if (collecting_ > 0) return;
  const auto aggregators = line_->sums_wanted();
  collecting_ = aggregators.size();
  pool.collect(line_->state().version, aggregators);
}

void run_driver::begin_evaluation(work_pool& pool) {
  watch_.pause();
  evaluation_ = std::make_shared<evaluation_work>(e_, line_->under_test(), store_, line_->state().ledger.get());
  evaluation_->scores().exclude(line_->leaving());
  evaluation_->scores().leave_out(line_->unresponsive());
  pool.score(evaluation_);
}

void run_driver::on_trained(std::vector<training_job>& done) {
  for (auto& job : done) line_->on_trained(std::move(job));
}

void run_driver::on_sums(std::uint32_t aggregator, accumulator_state&& sums) {
  --collecting_;
  line_->on_sums(aggregator, std::move(sums));
}

result<void> run_driver::on_scored(const std::shared_ptr<const error>& failure) {
  const auto work = std::exchange(evaluation_, nullptr);
  if (failure && failure->what != error::kind::model) return tl::unexpected(*failure);
  if (failure) {
    line_->on_evaluation_failed(*failure);
    return {};
  }
  last_ = work->scores().report();
  if (observer_.on_evaluation)
    if (auto reported = observer_.on_evaluation(last_); !reported) return reported;
  line_->on_evaluated(last_);
  return {};
}

/// Makes private values and the state durable, in this order.
result<void> run_driver::save() {
  watch_.pause();
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

run_outcome run_driver::outcome() {
  watch_.pause();
  run_outcome made{line_->snapshot(), line_->scored() != nullptr ? *line_->scored() : last_, line_->interrupted()};
  watch_.tell(made.state);
  if (made.interrupted) made.evaluation = {};  // it was not of the final model
  return made;
}

}  // namespace furlong::federated
