// The aggregate of a round's updates.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "federated/experiment/update.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// What the messages of a run hold of its aggregation rule.
struct rule_sizes {
  std::size_t reference = 0;  ///< constants of a broadcast that has any
  std::size_t words = 0;      ///< of an accumulator's content
};

struct aggregate {
  models::shared_parameters change;  ///< the server optimizer adds it to the model
  models::shared_parameters added;  ///< of the tensors that the algorithm adds (partition::reported); without any, none
  std::uint64_t count = 0;          ///< aggregated updates, or the public divisor of their sum
  std::uint64_t weight = 0;         ///< sum of their weights
  double loss = 0.0;                ///< mean loss per weighted example
  std::vector<double> reference;    ///< the rule's constants for the next round
  double mixing = 1.0;              ///< largest share of a client's delta in `change`: FedAsync's alpha s(tau)
  /// Single updates, sorted by task, where the rule needs them, while it reports, or the algorithm sees them.
  std::vector<client_update> updates = {};
  bool usable = true;  ///< false: the sum has no meaning (no weight, or attention out of range)
};

}  // namespace furlong::federated
