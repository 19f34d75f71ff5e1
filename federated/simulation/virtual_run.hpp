// A run in virtual time, as its engine sees it: it continues until it needs something that takes real time.
//
// Training is handed out as jobs, in the order in which tasks end, and its result is asked for when virtual time gets
// there. So threads can train ahead of it, and what happens does not depend on them.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "federated/client/training_job.hpp"
#include "federated/rounds/run_observer.hpp"
#include "federated/simulation/add_mode.hpp"

namespace furlong::federated {

/// What a run needs before it can go on.
enum class run_needs : std::uint8_t {
  training,    ///< the result of a job that was handed out
  evaluation,  ///< of under_test(), then on_evaluated()
  checkpoint,  ///< of snapshot(), then on_checkpointed()
  sums,        ///< those of sums_wanted(), where the run does not add them up itself
  nothing,     ///< the run is over
};

class virtual_run {
 public:
  virtual ~virtual_run() = default;

  /// Runs until something is needed. Fails as the store, the observer or a machine does, or when nothing can ever
  /// happen any more.
  [[nodiscard]] virtual result<run_needs> advance() = 0;
  /// Takes at most `count` jobs, those that are needed first before others, each once.
  virtual void take_jobs(std::size_t count, std::vector<training_job>& out) = 0;
  /// A job is done. Results may come in any order.
  virtual void on_trained(training_job&& done) = 0;
  /// Jobs taken whose results the run has not used yet: results waiting, and work under way.
  [[nodiscard]] virtual std::size_t ahead() const = 0;

  // Only of a run whose updates are added up by those who train (add_mode):
  /// Appends orders for updates that are held (training_job::held), in the order in which the run gave them, each once.
  /// To be taken before on_sums(). Of add_mode::at_once there are only those that do not count.
  virtual void take_adds(std::vector<add_order>& /*out*/) {}
  /// Aggregators of the version under way whose sums are needed now.
  [[nodiscard]] virtual std::vector<std::uint32_t> sums_wanted() const { return {}; }
  /// The sum of all held updates that count for an aggregator of sums_wanted(). Without any it may have no words.
  virtual void on_sums(std::uint32_t /*aggregator*/, accumulator_state&& /*sums*/) {}

  virtual void on_evaluated(const evaluation_report& figures) = 0;
  /// The evaluation failed with this error of kind model: advance() next asks for a checkpoint, with which the run can
  /// be resumed, and then fails with the error. A job that failed so, or the algorithm's step, has the same effect,
  /// where the run can take back the round under way; else advance() just fails.
  virtual void on_evaluation_failed(error why) = 0;
  /// The checkpoint is durable: what was to be erased is erased now.
  [[nodiscard]] virtual result<void> on_checkpointed() = 0;
  /// Asks to stop after the round under way.
  virtual void stop() = 0;
  /// The same as soon as `flag` is set, which is looked at before every round: advance() may go through many when there
  /// is nothing to train. `flag` must outlive the run.
  virtual void stop_when(const std::atomic<bool>& flag) = 0;

  [[nodiscard]] virtual const server_state& state() const = 0;
  [[nodiscard]] virtual model_version under_test() const = 0;
  [[nodiscard]] virtual server_state snapshot() const = 0;
  /// Clients whose private values are erased once the next checkpoint is durable.
  [[nodiscard]] virtual const std::vector<std::uint32_t>& leaving() const = 0;
  /// Clients to leave out of the evaluation, ascending: they do not respond.
  [[nodiscard]] virtual std::vector<std::uint32_t> unresponsive() const { return {}; }
  [[nodiscard]] virtual bool interrupted() const = 0;
  /// The last evaluation, where the run's own nodes make it and evaluation is never needed; else null.
  [[nodiscard]] virtual const evaluation_report* scored() const { return nullptr; }
};

}  // namespace furlong::federated
