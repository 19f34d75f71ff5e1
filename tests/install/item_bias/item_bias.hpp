// The baseline of every recommender: rating = mean + bias of the item + bias of the user.
// Tensors, in order: mean (1 x 1), item_bias (items x 1), user_bias (1 x 1; make it private).
#pragma once

#include "models/model.hpp"

namespace item_bias {

/// What scenarios call `kind = "item-bias"`. Give it to furlong::models::register_model.
[[nodiscard]] furlong::models::model_entry entry();

}  // namespace item_bias
