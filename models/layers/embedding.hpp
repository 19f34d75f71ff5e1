// A table with a vector for each token (Bengio, Ducharme, Vincent, Jauvin 2003). Pure and thread-safe; arguments do not
// overlap.
#pragma once

#include <cstdint>
#include <span>

#include "models/model.hpp"

namespace furlong::models {

/// Row i of `out` = row tokens[i] of `table`. table: rows x cols; tokens: each below its rows; out: tokens x cols.
void embed(const tensor_view& table, std::span<const std::uint32_t> tokens, const tensor_view& out);

/// Row tokens[i] of d_table += row i of d_out. d_table (rows x cols, dense) is added to, while other layers overwrite
/// their gradients: the caller zeroes it, or passes a tied layer's gradient. d_out: tokens x cols.
void embed_backward(std::span<const std::uint32_t> tokens, const tensor_view& d_out, float* d_table);

}  // namespace furlong::models
