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
void multiply_into(const matrix_product& product, const A& a, const B& b) {
  strided c(product.c, static_cast<Index>(product.m), static_cast<Index>(product.n),
            Eigen::OuterStride<>(static_cast<Index>(product.c_stride)));
  if (product.accumulate)
    c.noalias() += a * b;
  else
    c.noalias() = a * b;
}

template <class A>
void multiply_from(const matrix_product& product, const A& a) {
  if (product.b_transposed)
    multiply_into(product, a, input(product.b, product.b_stride, product.n, product.k).transpose());
  else
    multiply_into(product, a, input(product.b, product.b_stride, product.k, product.n));
}

}  // namespace

void multiply(const matrix_product& product) {
  const bool of_matrices = product.m > 1 && product.n > 1;
  // Where Eigen would use its products of small operands, whose last bits depend on the address of c.
  const bool small = product.m + product.n + product.k < EIGEN_GEMM_TO_COEFFBASED_THRESHOLD;
  if (product.k > 0 && (of_matrices || small)) return multiply_in_panels(product);
  if (product.a_transposed)
    multiply_from(product, input(product.a, product.a_stride, product.k, product.m).transpose());
  else
    multiply_from(product, input(product.a, product.a_stride, product.m, product.k));
}

}  // namespace furlong::models::FURLONG_LEVEL
