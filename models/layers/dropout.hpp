// Dropout with inverted scaling (Srivastava et al. 2014): predictions need no scaling. Pure except for the stream,
// which advances; one stream and one arena per thread.
#pragma once

#include <span>

#include "base/random.hpp"
#include "models/layers/arena.hpp"
#include "models/model.hpp"

namespace furlong::models {

/// Draws `mask`: 0 with probability `rate`, else 1 / (1 - rate). 0 <= rate < 1.
void draw_dropout(random_stream& noise, float rate, std::span<float> mask);

/// values *= mask, element by element, of the same size: forward, and backward on the gradient. An empty mask drops
/// nothing.
void drop(std::span<const float> mask, float* values);

/// Applies dropout to the values (any shape) and returns the mask, which is in `memory`; without noise (null), or at
/// rate 0, it is empty.
[[nodiscard]] std::span<const float> drop_by(random_stream* noise, float rate, const tensor_view& values,
                                             arena& memory);

}  // namespace furlong::models
