// SCAFFOLD, an algorithm that adds tensors: a control variate that all share, and one that each client keeps.
#pragma once

#include "federated/algorithm.hpp"

namespace scaffold {

/// What scenarios call `kind = "scaffold"`.
[[nodiscard]] furlong::federated::algorithm_entry entry();

}  // namespace scaffold
