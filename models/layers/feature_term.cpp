#include "models/layers/feature_term.hpp"

#include <algorithm>

#include "models/kernels/kernels.hpp"
#include "models/layers/matrices.hpp"

namespace furlong::models {

void copy_in_order(const tensor_view& rows, std::span<const std::uint32_t> order, float* out) {
  for (std::size_t i = 0; i < rows.rows; ++i)
    std::copy_n(rows.row(i), rows.cols, out + std::size_t{order[i]} * rows.cols);
}

double add_feature_term(const tensor_view& rows, std::span<const std::uint32_t> order, const feature_loss& added,
                        const tensor_view& d_rows, arena& memory) {
  const auto features = make_matrix(memory, rows.rows, rows.cols);
  const auto d_features = make_matrix(memory, rows.rows, rows.cols);
  copy_in_order(rows, order, features.data);
  std::fill_n(d_features.data, d_features.size(), 0.0F);
  const double sum = added(features, d_features);
  for (std::size_t i = 0; d_rows.data != nullptr && i < rows.rows; ++i)
    kernels().add_rows(d_rows.row(i), d_features.row(order[i]), 1, rows.cols);
  return sum;
}

}  // namespace furlong::models
