// Matrix products of one level (see level.cpp): in panels, or by Eigen where one operand is a vector.
#include <Eigen/Core>

#include "models/kernels/detail/level_parts.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

using Eigen::Index;
using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using strided = Eigen::Map<matrix, Eigen::Unaligned, Eigen::OuterStride<>>;
using strided_input = Eigen::Map<const matrix, Eigen::Unaligned, Eigen::OuterStride<>>;

strided_input input(const float* data, std::size_t stride, std::size_t rows, std::size_t cols) {
  return {data, static_cast<Index>(rows), static_cast<Index>(cols), Eigen::OuterStride<>(static_cast<Index>(stride))};
}

template <class A, class B>
void multiply_into(const matrix_product& what, const A& a, const B& b) {
  strided c(what.c, static_cast<Index>(what.m), static_cast<Index>(what.n),
            Eigen::OuterStride<>(static_cast<Index>(what.c_stride)));
  if (what.accumulate)
    c.noalias() += a * b;
  else
    c.noalias() = a * b;
}

template <class A>
void multiply_from(const matrix_product& what, const A& a) {
  if (what.b_transposed)
    multiply_into(what, a, input(what.b, what.b_stride, what.n, what.k).transpose());
  else
    multiply_into(what, a, input(what.b, what.b_stride, what.k, what.n));
}

}  // namespace

void multiply(const matrix_product& what) {
  const bool of_matrices = what.m > 1 && what.n > 1;
  // Where Eigen would use its products of small operands, whose last bits depend on the address of c.
  const bool small = what.m + what.n + what.k < EIGEN_GEMM_TO_COEFFBASED_THRESHOLD;
  if (what.k > 0 && (of_matrices || small)) return multiply_in_panels(what);
  if (what.a_transposed)
    multiply_from(what, input(what.a, what.a_stride, what.k, what.m).transpose());
  else
    multiply_from(what, input(what.a, what.a_stride, what.m, what.k));
}

}  // namespace furlong::models::FURLONG_LEVEL
