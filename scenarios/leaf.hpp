// Data in the layout of LEAF (Caldas et al. 2018, "LEAF: a benchmark for federated settings").
#pragma once

#include "scenarios/dataset.hpp"

namespace furlong::scenarios {

[[nodiscard]] dataset_entry leaf_entry();

}  // namespace furlong::scenarios
