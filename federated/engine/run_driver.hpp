// Drives a run in virtual time over whoever does its work: one thread, the threads of this process, other machines.
//
//  1. The host calls go_on(). The driver advances the run (virtual_run), writes checkpoints, and gives the pool the
//     jobs and the evaluation that the run needs, as far ahead as the pool takes them; then it returns.
//  2. The host tells on_trained() and on_scored() what is done, and calls go_on() again, until it is true or fails.
//  3. outcome() is what the run came to.
// Who does which job, and when, changes no result.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "federated/client/training_job.hpp"
#include "federated/evaluation/evaluation.hpp"
#include "federated/rounds/stopwatch.hpp"
#include "federated/simulation/virtual_run.hpp"

namespace furlong::federated {

/// An evaluation that several threads share: each takes the next client until none is left. It holds the evaluated
/// model, because they may still work when the run has ended.
class evaluation_work {
 public:
  evaluation_work(const experiment& e, const model_version& tested, private_store& store,
                  const participation_ledger* ledger)
      : version_(tested.version),
        model_(tested.model),
        added_(*tested.added),
        scores_(e, tested_model(), &store, ledger) {}

  [[nodiscard]] evaluation& scores() { return scores_; }
  [[nodiscard]] model_version tested_model() const { return {version_, model_, &added_}; }
  /// Scores clients until none is left; after a failure none is. Thread-safe, each thread with its own workspace.
  [[nodiscard]] result<void> score_rest(workspace& use);

 private:
  const std::uint64_t version_;
  const models::shared_parameters model_;
  const models::shared_parameters added_;
  evaluation scores_;
  std::atomic<std::size_t> next_{0};
};
using evaluation_work_ptr = std::shared_ptr<evaluation_work>;

/// Whoever does the work of a run.
class work_pool {
 public:
  virtual ~work_pool() = default;
  /// The most jobs that it takes now; 0: none. At least one while none is out, else the run would wait forever.
  /// @param ahead jobs that are out, or whose results wait for their time (virtual_run::ahead)
  [[nodiscard]] virtual std::size_t wanted(std::size_t ahead) const = 0;
  /// Does these jobs, or begins to; then the host tells run_driver::on_trained(). It may swap the vector for one to be
  /// used again, with any content.
  virtual void train(std::vector<training_job>& jobs) = 0;
  /// Scores all clients, or begins to; then the host tells run_driver::on_scored(), once.
  virtual void score(evaluation_work_ptr work) = 0;
  // Only of a pool that adds updates up (add_mode):
  /// What becomes of updates that it holds.
  virtual void add(const std::vector<add_order>& /*orders*/) {}
  /// Adds up what counts in this version for each of these aggregators, or begins to; then the host tells
  /// run_driver::on_sums(), once for each. Meanwhile it may be given jobs, and this call is not repeated.
  virtual void collect(std::uint64_t /*version*/, const std::vector<std::uint32_t>& /*aggregators*/) {}
};

/// Not thread-safe.
class run_driver {
 public:
  /// Goes on from `start`. When `stop` becomes true it checkpoints after the round under way and is over. All but
  /// `start` must outlive it.
  /// @param mode the pool adds updates up: that of add_mode_of(), or by_run
  run_driver(const experiment& e, server_state start, private_store& store, const run_observer& observer,
             const std::atomic<bool>& stop, add_mode mode = add_mode::by_run);

  /// Runs until it waits for the pool. True: the run is over. Fails as virtual_run::advance(), the store or the
  /// observer does: then it must not be called again.
  [[nodiscard]] result<bool> go_on(work_pool& pool);
  /// These jobs are done, in any order. They are moved from.
  void on_trained(std::vector<training_job>& done);
  /// The sum that collect() asked for; without an update it may have no words.
  void on_sums(std::uint32_t aggregator, accumulator_state&& sums);
  /// The evaluation is done, or failed: of its errors one that is not of kind model, if there is any, ends the run.
  [[nodiscard]] result<void> on_scored(const std::shared_ptr<const error>& failure);
  /// Whether an evaluation is under way. Meanwhile the run does not advance.
  [[nodiscard]] bool is_scoring() const { return evaluation_ != nullptr; }
  /// Of a run that is over.
  [[nodiscard]] run_outcome outcome();

 private:
  void hand_out(work_pool& pool);
  void give_orders(work_pool& pool);
  void collect(work_pool& pool);
  void begin_evaluation(work_pool& pool);
  [[nodiscard]] result<void> save();

  const experiment& e_;
  private_store& store_;
  const run_observer& observer_;
  const std::atomic<bool>& stop_;
  stopwatch watch_;
  std::unique_ptr<virtual_run> line_;
  std::vector<training_job> jobs_;
  std::vector<add_order> orders_;
  std::size_t collecting_ = 0;      ///< aggregators whose sums are asked for
  evaluation_work_ptr evaluation_;  ///< under way
  evaluation_report last_;
};

}  // namespace furlong::federated
