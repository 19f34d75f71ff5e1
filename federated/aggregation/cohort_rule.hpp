// Rules of aggregation that hold the updates of a version and compare them (robust/robust_rule.hpp).
#pragma once

#include <vector>

#include "federated/aggregation/rule.hpp"

namespace furlong::federated {

/// An entry for each robust rule.
[[nodiscard]] std::vector<rule_entry> robust_entries();

}  // namespace furlong::federated
