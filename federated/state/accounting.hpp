// Outcomes and costs of all selected clients.
#pragma once

#include <array>
#include <cstdint>
#include <numeric>

#include "federated/experiment/update.hpp"

namespace furlong::federated {

/// Counters of a run, monotonic. At every moment
///   selected = folded + sum(rejected) + late + surplus + sum(dropped) + abandoned + in flight
/// where in flight is the number of tasks without an outcome.
struct accounting {
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  std::array<std::uint64_t, rejection_count> rejected{};  ///< by rejection
  std::uint64_t late = 0;
  std::uint64_t surplus = 0;
  std::array<std::uint64_t, drop_stage_count> dropped{};  ///< by stage
  std::uint64_t abandoned = 0;
  std::uint64_t rounds_abandoned = 0;
  std::uint64_t clients_trained = 0;  ///< tasks with a report
  std::uint64_t examples = 0;         ///< processed in all phases of training for the updates that arrived
  std::uint64_t bytes_up = 0;         ///< encoded size of all updates that arrived
  std::uint64_t bytes_down = 0;       ///< encoded size of all tasks and broadcasts
  std::uint64_t staleness_sum = 0;    ///< over the aggregated updates, in versions
  std::uint64_t staleness_max = 0;

  /// Tasks with an outcome.
  [[nodiscard]] std::uint64_t settled() const {
    return folded + std::accumulate(rejected.begin(), rejected.end(), std::uint64_t{0}) + late + surplus +
           std::accumulate(dropped.begin(), dropped.end(), std::uint64_t{0}) + abandoned;
  }
  [[nodiscard]] std::uint64_t in_flight() const { return selected - settled(); }

  friend bool operator==(const accounting&, const accounting&) = default;
};

}  // namespace furlong::federated
