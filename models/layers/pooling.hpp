// Pools the vectors of a sequence's steps into one; no sequence is empty. Pure and thread-safe; arguments do not
// overlap.
#pragma once

#include <cstdint>
#include <span>

#include "models/layers/packed_sequences.hpp"
#include "models/model.hpp"

namespace furlong::models {

/// The largest value of each column over a sequence's steps (max pooling over time: Collobert, Weston, Bottou, Karlen,
/// Kavukcuoglu, Kuksa 2011). x: rows x cols, packed; out: count x cols, in the order of places; from (count x cols):
/// the row of each largest value, the first of equal ones.
void max_over_steps(const packed_sequences& packed, const tensor_view& x, const tensor_view& out,
                    std::span<std::uint32_t> sources);
/// From d_out = dL/d(out) and `sources` of max_over_steps(). d_x: rows x cols, overwritten.
void max_over_steps_backward(const tensor_view& d_out, std::span<const std::uint32_t> sources, const tensor_view& d_x);

/// The last states of both directions of a bidirectional layer: of the first half of the columns the last step, of the
/// second half the first step. x: rows x cols, packed, cols even; out: count x cols, in the order of places.
void last_states(const packed_sequences& packed, const tensor_view& x, const tensor_view& out);
/// From d_out = dL/d(out). d_x: rows x cols, overwritten.
void last_states_backward(const packed_sequences& packed, const tensor_view& d_out, const tensor_view& d_x);

}  // namespace furlong::models
