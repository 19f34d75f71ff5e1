// Participation statistics of the clients of a run.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "federated/experiment/population.hpp"
#include "federated/state/ledger.hpp"

namespace furlong::federated {

/// Statistics over the training clients; they count aggregated updates.
struct participation_summary {
  std::uint64_t clients = 0;
  double mean = 0.0;
  /// Gini coefficient: half the mean difference between two clients, relative to the mean. 0: all equal; near 1: few
  /// clients contributed all updates. 0 if nothing was aggregated.
  double gini = 0.0;
  std::uint64_t never_selected = 0;  ///< clients never selected
  std::uint64_t never_folded = 0;    ///< clients without an aggregated update, selected or not
  // Percentiles of the count.
  std::uint32_t p10 = 0;
  std::uint32_t p50 = 0;
  std::uint32_t p90 = 0;
  std::uint32_t max = 0;

  friend bool operator==(const participation_summary&, const participation_summary&) = default;
};

/// Over `clients`, which the ledger must contain. O(n log n), 4 bytes a client. Exact while clients times updates is
/// below 2^63.
[[nodiscard]] participation_summary summarize_participation(const participation_ledger& ledger,
                                                            std::span<const std::uint32_t> clients);

/// Clients with similar numbers of training examples, and the outcomes of their tasks.
struct activity_quintile {
  std::uint32_t least = 0;  ///< train examples of a client
  std::uint32_t most = 0;
  std::uint64_t clients = 0;
  std::uint64_t selected = 0;  ///< tasks
  std::uint64_t folded = 0;    ///< aggregated updates

  friend bool operator==(const activity_quintile&, const activity_quintile&) = default;
};

/// Five parts of the clients by their train examples, ascending, as equal as possible; equal counts in the order of
/// clients. Shows whether limits and rules accept clients with many examples as often as those with few. Empty with
/// fewer than five clients, and where no client's number of examples is known.
[[nodiscard]] std::vector<activity_quintile> acceptance_by_activity(const participation_ledger& ledger,
                                                                    const population& everybody,
                                                                    std::span<const std::uint32_t> clients);

}  // namespace furlong::federated
