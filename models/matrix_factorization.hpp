// Matrix factorization with squared error: rating = mean + user_bias + item_bias[i] + <user, item[i]>
// (Koren, Bell, Volinsky: "Matrix factorization techniques for recommender systems", Computer 2009).
//
// Tensors, in order: user (1 x rank, or clients x rank when `user_table`), user_bias (1 x 1 or clients x 1, optional),
// item (features x rank), item_bias (features x 1, optional), mean (1 x 1, optional).
#pragma once

#include "models/model.hpp"

namespace furlong::models {

[[nodiscard]] model_entry matrix_factorization_entry();

}  // namespace furlong::models
