// Rules of aggregation that hold the updates of a version and compare them (robust_rule.hpp).
#pragma once

#include <vector>

#include "federated/aggregation/rule.hpp"

namespace furlong::federated {

/// An entry for each robust rule.
[[nodiscard]] std::vector<rule_entry> robust_entries();

/// The tensors of an update one after another, as the layout has them: where they lie, if that is how they lie there,
/// else in `room`.
/// @param tensors of the layout, ascending
[[nodiscard]] std::span<const float> dense_values(const models::layout& shared, const models::delta& change,
                                                  std::span<const std::size_t> tensors, std::vector<float>& room);

}  // namespace furlong::federated
