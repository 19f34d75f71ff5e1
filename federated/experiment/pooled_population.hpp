// All training clients as one: centralized training as a federation of one client.
#pragma once

#include <memory>

#include "federated/experiment/population.hpp"

namespace furlong::federated {

/// A population of one training client, 0, with the train examples of all training clients of `all`, client by client,
/// each example with its owner. A round over it is an epoch of centralized training.
[[nodiscard]] std::shared_ptr<const population> pool_clients(std::shared_ptr<const population> all);

}  // namespace furlong::federated
