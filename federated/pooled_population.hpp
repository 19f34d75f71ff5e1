// All training clients as one: what centralized training is, in the terms of a federation.
#pragma once

#include <memory>

#include "federated/population.hpp"

namespace furlong::federated {

/// A population of one training client, 0, that holds the train examples of all training clients of `all`, client by
/// client, each with its owner. A round of one client over it is an epoch of centralized training.
[[nodiscard]] std::shared_ptr<const population> pool_clients(std::shared_ptr<const population> all);

}  // namespace furlong::federated
