// FedAlt, an algorithm that Furlong does not have.
#pragma once

#include "federated/algorithm.hpp"

namespace fedalt {

/// What scenarios call `kind = "fedalt"`. Give it to furlong::federated::register_algorithm.
[[nodiscard]] furlong::federated::algorithm_entry entry();

}  // namespace fedalt
