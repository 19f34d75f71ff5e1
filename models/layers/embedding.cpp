#include "models/layers/embedding.hpp"

#include <algorithm>

#include "models/kernels/kernels.hpp"

namespace furlong::models {

void embed(const tensor_view& table, std::span<const std::uint32_t> tokens, const tensor_view& out) {
  for (std::size_t i = 0; i < tokens.size(); ++i) std::copy_n(table.row(tokens[i]), table.cols, out.row(i));
}

void embed_backward(std::span<const std::uint32_t> tokens, const tensor_view& d_out, float* d_table) {
  for (std::size_t i = 0; i < tokens.size(); ++i)
    kernels().add_rows(d_table + std::size_t{tokens[i]} * d_out.cols, d_out.row(i), 1, d_out.cols);
}

}  // namespace furlong::models
