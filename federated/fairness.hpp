// How evenly the clients of a run took part.
#pragma once

#include <cstdint>
#include <span>

#include "federated/participation/ledger.hpp"

namespace furlong::federated {

/// Figures over the clients that may be asked to train. What is counted is updates that went into a model.
struct participation_summary {
  std::uint64_t clients = 0;
  double mean = 0.0;
  /// Gini coefficient: the mean difference between two clients, halved, relative to the mean. 0: all alike; towards 1:
  /// few clients gave all updates. 0 where nothing was folded.
  double gini = 0.0;
  std::uint64_t never_selected = 0;  ///< clients never asked
  std::uint64_t never_folded = 0;    ///< clients that no model knows, asked or not
  // The least count that this share of the clients does not exceed.
  std::uint32_t p10 = 0;
  std::uint32_t p50 = 0;
  std::uint32_t p90 = 0;
  std::uint32_t max = 0;

  friend bool operator==(const participation_summary&, const participation_summary&) = default;
};

/// Over `clients`, numbers that the ledger has. O(n log n), 4 bytes a client. Exact as long as clients times updates
/// stay below 2^63.
[[nodiscard]] participation_summary summarize_participation(const participation_ledger& ledger,
                                                            std::span<const std::uint32_t> clients);

}  // namespace furlong::federated
