// The updates of one thread of a worker: sums of those that count, and those of which the run has not decided yet.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/client/training_job.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated::cluster {

/// A sum by its number, which whoever collects it has chosen: of one version and aggregator.
using sum_number = std::uint64_t;
/// Of none: an update for it is assessed and not added.
constexpr sum_number no_sum = 0;

/// What a sum has.
struct partial_sum {
  std::vector<task_id> tasks;  ///< in any order
  std::vector<std::int64_t> words;
};

/// Not thread-safe. Memory: O(model) for each sum that is not collected, and the kept updates.
class update_sums {
 public:
  /// `run` must outlive it. Not for runs whose rule or algorithm needs single updates.
  explicit update_sums(const experiment& run) : run_(run) {}

  /// Does with the update of a job that is done what job.use says, and sets job.report and job.held. An update that is
  /// kept is moved out of the job. Nothing is done with those of failed jobs.
  /// @param sum that it is added to (update_use::added)
  void take(training_job& job, sum_number sum, double freshness = 1.0);
  /// Adds a kept update to a sum. False: it is not kept here. Throws models::broken_part if the rule refuses it, though
  /// its traits say that it takes all.
  bool add(const task_id& task, sum_number sum, double freshness);
  /// Forgets a kept update, if it is here.
  void drop(const task_id& task) { kept_.erase(task); }
  /// Moves a sum out. Without an update it has no words.
  [[nodiscard]] partial_sum collect(sum_number sum);

 private:
  struct open_sum {
    std::unique_ptr<accumulator> words;
    std::vector<task_id> tasks;
    bool is_reusable = false;
  };
  struct kept_update {
    client_update update;
    broadcast_ptr model;
  };
  [[nodiscard]] open_sum& find(sum_number sum, const broadcast& model);
  [[nodiscard]] settlement assess(const client_update& update, const broadcast& model);

  const experiment& run_;
  std::unordered_map<sum_number, open_sum> sums_;
  std::map<task_id, kept_update> kept_;
  std::unique_ptr<accumulator> spare_;  ///< empty; of a rule without constants
};

}  // namespace furlong::federated::cluster
