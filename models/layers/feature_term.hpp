// Features of examples in an order of the model's own, as packed sequences are: in and out of the order of the
// examples.
#pragma once

#include <cstdint>
#include <span>

#include "models/feature_model.hpp"
#include "models/layers/arena.hpp"

namespace furlong::models {

/// Copies row i of `rows` to row order[i] of `out`, of the same shape.
void copy_in_order(const tensor_view& rows, std::span<const std::uint32_t> order, float* out);

/// Calls `added` with the features of all examples, and adds its gradient to row i of `d_rows`, for example order[i],
/// unless the data of `d_rows` is null. Returns the term's sum.
double add_feature_term(const tensor_view& rows, std::span<const std::uint32_t> order, const feature_loss& added,
                        const tensor_view& d_rows, arena& memory);

}  // namespace furlong::models
