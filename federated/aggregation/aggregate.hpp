// What the updates of a round amount to.
#pragma once

#include <cstdint>
#include <vector>

#include "models/parameters.hpp"

namespace furlong::federated {

struct aggregate {
  models::shared_parameters change;  ///< to be added to the model (by the server optimizer)
  models::shared_parameters added;  ///< of the tensors that the algorithm adds (partition::reported); without any, none
  std::uint64_t count = 0;          ///< updates folded
  std::uint64_t weight = 0;         ///< sum of their weights
  double loss = 0.0;                ///< mean loss per weighted example
  std::vector<double> reference;    ///< the rule's constants for the next round
  double mixing = 1.0;              ///< how much of a client's change is in `change` at most: FedAsync's alpha s(tau)
  bool usable = true;               ///< false: the sum says nothing (no weight, or attention out of range)
};

}  // namespace furlong::federated
