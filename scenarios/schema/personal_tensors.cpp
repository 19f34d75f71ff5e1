#include "scenarios/schema/personal_tensors.hpp"

#include <array>

namespace furlong::scenarios {

std::span<const personal_tensor> personal_tensors() {
  static constexpr std::array<personal_tensor, 5> all{{
      {"matrix-factorization", "user", "model.user_table = false"},
      {"matrix-factorization", "user_bias", "model.user_bias = true"},
      {"logistic-regression", "user_bias", "model.user_bias = true"},
      {"doc-classifier", "user", "model.user_embedding = 4"},
      {"lstm-nwp", "oov_embedding", "data.buckets = 50"},
  }};
  return all;
}

}  // namespace furlong::scenarios
