// Sums over the rows of an update that do not depend on the order in which it lists them.
#pragma once

#include <cstddef>
#include <span>

#include "base/function_ref.hpp"
#include "models/delta.hpp"

namespace furlong::federated {

/// The sum of measure(position, values) over the rows of the shared tensors, in the order of tensors and rows;
/// `position` is that of the first value in the layout. A tensor without a row for each feature or client is one row.
/// Bit for bit the same for an update and its dense copy, if rows of zeros measure 0.
[[nodiscard]] double sum_over_rows(const models::layout& shared, const models::delta& change,
                                   function_ref<double(std::size_t position, std::span<const float> values)> measure);

/// The L2 norm of the shared tensors of an update, together.
[[nodiscard]] double norm_of(const models::layout& shared, const models::delta& change);

}  // namespace furlong::federated
