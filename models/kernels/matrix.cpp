// Matrix products of one level (see level.cpp).
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

/// Memory that only grows, to twice what is asked for: a smaller product may be cut into somewhat larger blocks. What
/// is not used is never touched.
class block {
 public:
  block() = default;
  ~block() { Eigen::internal::aligned_free(data_); }
  block(const block&) = delete;
  block& operator=(const block&) = delete;

  float* at_least(Index count) {
    if (size_ >= count) return data_;
    Eigen::internal::aligned_free(data_);
    data_ = nullptr;
    size_ = 0;
    data_ = static_cast<float*>(Eigen::internal::aligned_malloc(static_cast<std::size_t>(2 * count) * sizeof(float)));
    size_ = 2 * count;
    return data_;
  }

 private:
  float* data_ = nullptr;
  Index size_ = 0;
};

/// How Eigen cuts a product into blocks, and this thread's memory for packing them: left to itself, Eigen takes blocks
/// of more than 128 KB from the heap in every product.
class blocks : public Eigen::internal::level3_blocking<float, float> {
 public:
  blocks(Index m, Index n, Index k) {
    m_mc = n;  // Eigen turns a product with a row-major result over
    m_nc = m;
    m_kc = k;
    Eigen::internal::computeProductBlockingSizes<float, float>(m_kc, m_mc, m_nc, Index{1});
    thread_local block left;
    thread_local block right;
    m_blockA = left.at_least(m_mc * m_kc);
    m_blockB = right.at_least(m_kc * m_nc);
  }
};

/// Where Eigen's operator would cut into blocks too: neither few elements nor a product with a vector.
bool in_blocks(const matrix_product& what) {
  return what.m > 1 && what.n > 1 && what.k > 0 && what.m + what.n + what.k >= EIGEN_GEMM_TO_COEFFBASED_THRESHOLD;
}

/// c += a b, as Eigen's operator computes it, to the last bit.
template <class A, class B>
void add_product(const A& a, const B& b, strided& c) {
  constexpr auto order = [](bool row_major) { return row_major ? Eigen::RowMajor : Eigen::ColMajor; };
  using product = Eigen::internal::general_matrix_matrix_product<Index, float, order(A::IsRowMajor), false, float,
                                                                 order(B::IsRowMajor), false, Eigen::RowMajor, 1>;
  blocks room(c.rows(), c.cols(), a.cols());
  product::run(c.rows(), c.cols(), a.cols(), a.data(), a.outerStride(), b.data(), b.outerStride(), c.data(), 1,
               c.outerStride(), 1.0F, room);
}

template <class A, class B>
void multiply_into(const matrix_product& what, const A& a, const B& b) {
  strided c(what.c, static_cast<Index>(what.m), static_cast<Index>(what.n),
            Eigen::OuterStride<>(static_cast<Index>(what.c_stride)));
  if (in_blocks(what)) {
    if (!what.accumulate) c.setZero();
    add_product(a, b, c);
  } else if (what.accumulate)
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
  if (what.a_transposed)
    multiply_from(what, input(what.a, what.a_stride, what.k, what.m).transpose());
  else
    multiply_from(what, input(what.a, what.a_stride, what.m, what.k));
}

}  // namespace furlong::models::FURLONG_LEVEL
