// The values of an update as one vector.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "models/delta.hpp"

namespace furlong::federated {

/// The tensors of an update one after another, as the layout has them: where they lie, if that is how they lie there,
/// else in `room`.
/// @param tensors of the layout, ascending
[[nodiscard]] std::span<const float> dense_values(const models::layout& shared, const models::delta& change,
                                                  std::span<const std::size_t> tensors, std::vector<float>& room);

}  // namespace furlong::federated
