// The last layer of a classifier: logits = h W' + b, softmax and cross-entropy (Bridle 1990), in blocks of rows whose
// logits fit into the cache.
//
// Pure; arguments do not overlap. Scratch memory comes from `memory`: one arena per thread.
#pragma once

#include <cstdint>
#include <span>

#include "models/layers/arena.hpp"
#include "models/layers/dense.hpp"

namespace furlong::models {

/// Returns the mean of -log softmax(h W' + b)[target] over the rows of h (rows x in; at least one); W is classes x in,
/// `targets` one a row, each below classes. Overwrites the gradients of that mean: of the weights, and d_h (rows x in)
/// unless its data is null.
double softmax_output_gradient(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                               const dense_gradient& gradient, const tensor_view& d_h, arena& memory);

/// Returns the sum instead (0 without rows), and writes the most likely class of each row, the first of equal ones;
/// `likeliest` is as long as `targets`.
double softmax_output_score(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> targets,
                            std::span<std::uint32_t> likeliest, arena& memory);

/// Writes softmax(h W' + b) of row i of h as row order[i] of `out` (rows x classes). For few rows: plain loops.
void softmax_output_probabilities(const dense_weights& w, const tensor_view& h, std::span<const std::uint32_t> order,
                                  std::span<float> out, arena& memory);

}  // namespace furlong::models
