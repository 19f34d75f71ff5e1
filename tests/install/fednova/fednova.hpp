// FedNova, an algorithm that Furlong does not have.
#pragma once

#include "federated/algorithm.hpp"

namespace fednova {

/// What scenarios call `kind = "fednova"`. Give it to furlong::federated::register_algorithm.
[[nodiscard]] furlong::federated::algorithm_entry entry();

}  // namespace fednova
