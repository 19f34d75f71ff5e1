// Shorthand for products of row-major matrices, named by transposition: n not transposed, t transposed.
#pragma once

#include "models/kernels/kernels.hpp"
#include "models/layers/arena.hpp"
#include "models/model.hpp"

namespace furlong::models {

/// An uninitialised rows x cols matrix that lives until the arena is cleared.
[[nodiscard]] inline tensor_view make_matrix(arena& memory, std::size_t rows, std::size_t cols) {
  return {memory.floats(rows * cols).data(), static_cast<std::uint32_t>(rows), static_cast<std::uint32_t>(cols)};
}

/// Rows first, first + 1, ... of a matrix, `count` of them.
[[nodiscard]] inline tensor_view rows_of(const tensor_view& matrix, std::size_t first, std::size_t count) {
  return {matrix.row(first), static_cast<std::uint32_t>(count), matrix.cols};
}

// Thread-safe. c overlaps neither a nor b; the shapes must fit (not checked).

/// c = a b, or c += that: (m x k) (k x n).
inline void multiply_nn(const tensor_view& a, const tensor_view& b, const tensor_view& c, bool accumulate = false) {
  kernels().multiply(
      {a.data, a.cols, false, b.data, b.cols, false, c.data, c.cols, a.rows, b.cols, a.cols, accumulate});
}
/// c = a b', or c += that: (m x k) (n x k)'.
inline void multiply_nt(const tensor_view& a, const tensor_view& b, const tensor_view& c, bool accumulate = false) {
  kernels().multiply({a.data, a.cols, false, b.data, b.cols, true, c.data, c.cols, a.rows, b.rows, a.cols, accumulate});
}
/// c = a' b, or c += that: (k x m)' (k x n).
inline void multiply_tn(const tensor_view& a, const tensor_view& b, const tensor_view& c, bool accumulate = false) {
  kernels().multiply({a.data, a.cols, true, b.data, b.cols, false, c.data, c.cols, a.cols, b.cols, a.rows, accumulate});
}

/// to (of.cols) = the sum of the rows: the gradient of a bias.
inline void sum_rows(const tensor_view& matrix, float* target) {
  for (std::uint32_t i = 0; i < matrix.cols; ++i) target[i] = 0.0F;
  kernels().add_rows(target, matrix.data, matrix.rows, matrix.cols);
}

}  // namespace furlong::models
