// One level's kernels. Compiled once per level with FURLONG_LEVEL (an identifier), FURLONG_LEVEL_NAME (its text) and
// -DEigen=Eigen_<level>, so that no symbol of one level replaces another's.
#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <cstddef>
#include <cstdint>
#include <cstring>
#ifdef __AVX__
#include <immintrin.h>
#endif

#include "models/kernels/detail/level_parts.hpp"
#include "models/kernels/detail/simd.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::models::FURLONG_LEVEL {

namespace {

void descend(float* w, const float* g, std::size_t n, float rate) {
  const pack factor = filled(-rate);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) store(w + i, times_add(factor, load(g + i), load(w + i)));
  for (; i < n; ++i) w[i] = times_add(-rate, g[i], w[i]);
}

void descend_momentum(float* __restrict w, float* __restrict v, const float* __restrict g, std::size_t n, float rate,
                      float momentum) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    v[i] = momentum * v[i] + g[i];
    w[i] -= rate * v[i];
  }
}

void subtract(float* __restrict target, const float* __restrict a, const float* __restrict b, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) target[i] = a[i] - b[i];
}

using four_sums = double __attribute__((vector_size(32)));
using four_values = float __attribute__((vector_size(16)));

/// Adds four products, which are exact as doubles: fused or not, the sum has the same bits. GCC 12 converts vectors by
/// halves unless told the instruction.
inline void add_products(four_sums& sum, four_values a, four_values b) {
#if defined(__AVX__) && defined(__FMA__)
  sum = _mm256_fmadd_pd(_mm256_cvtps_pd(a), _mm256_cvtps_pd(b), sum);
#else
  sum += __builtin_convertvector(a, four_sums) * __builtin_convertvector(b, four_sums);
#endif
}

inline four_values load_four(const float* source) {
  four_values values;
  std::memcpy(&values, source, sizeof values);
  return values;
}

/// By 16 sums, which every level adds in the same order.
inline double sum_products(const float* a, const float* b, std::size_t n) {
  four_sums sum[4] = {};
  std::size_t i = 0;
  const auto add = [&](std::size_t k, std::size_t j) { add_products(sum[k], load_four(a + j), load_four(b + j)); };
  for (; i + 16 <= n; i += 16)
    for (std::size_t k = 0; k < 4; ++k) add(k, i + 4 * k);
  if (i + 8 <= n) {
    add(0, i);
    add(1, i + 4);
    i += 8;
  }
  if (i + 4 <= n) {
    add(2, i);
    i += 4;
  }
  if (i < n) {
    const auto rest = [&](const float* v) {
      return four_values{v[i], i + 1 < n ? v[i + 1] : 0.0F, i + 2 < n ? v[i + 2] : 0.0F, 0.0F};
    };
    add_products(sum[3], rest(a), rest(b));
  }
  const four_sums total = (sum[0] + sum[2]) + (sum[1] + sum[3]);
  return (total[0] + total[2]) + (total[1] + total[3]);
}

double dot(const float* a, const float* b, std::size_t n) { return sum_products(a, b, n); }
double norm_squared(const float* v, std::size_t n) { return sum_products(v, v, n); }

// Adding 1.5 * 2^52 leaves the nearest integer of a double below 2^51 in its low mantissa bits: a conversion that every
// level vectorises, with the same result on each.
constexpr double round_magic = 0x1.8p52;

inline std::int64_t bits_of(double value) {
  std::int64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

inline std::int64_t to_fixed(double value) { return bits_of(value + round_magic) - bits_of(round_magic); }

void fold_fixed(std::int64_t* __restrict sum, const float* __restrict v, std::size_t n, double scale) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) sum[i] += to_fixed(static_cast<double>(v[i]) * scale);
}

void fold_fine(std::int64_t* __restrict fine, const float* __restrict v, std::size_t n, double scale) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) fine[i] += to_fixed(static_cast<double>(v[i]) * scale * 0x1p48);
}

void fold_both(std::int64_t* __restrict coarse, std::int64_t* __restrict fine, const float* __restrict v, std::size_t n,
               double scale) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    const double value = static_cast<double>(v[i]) * scale;
    const double whole = (value + round_magic) - round_magic;
    coarse[i] += to_fixed(whole);
    fine[i] += to_fixed((value - whole) * 0x1p48);
  }
}

float largest_magnitude(const float* v, std::size_t n) {
  pack largest = filled(0.0F);
  each_pack(n, [&](std::size_t i, const auto& access) {
    largest = larger(largest, Eigen::internal::pabs(access.read(v + i)));
  });
  return Eigen::internal::predux_max(largest);
}

/// If all values are below half a unit the coarse words stay unchanged, and half of the memory is not touched.
void fold_wide(std::int64_t* coarse, std::int64_t* fine, const float* v, std::size_t n, double scale) {
  constexpr std::size_t most = 256;
  for (std::size_t begin = 0; begin < n; begin += most) {
    const std::size_t count = n - begin < most ? n - begin : most;
    if (static_cast<double>(largest_magnitude(v + begin, count)) * scale < 0.5)
      fold_fine(fine + begin, v + begin, count, scale);
    else
      fold_both(coarse + begin, fine + begin, v + begin, count, scale);
  }
}

void add_fixed(std::int64_t* __restrict target, const std::int64_t* __restrict source, std::size_t n) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i)  // as unsigned: words out of range wrap around
    target[i] =
        static_cast<std::int64_t>(static_cast<std::uint64_t>(target[i]) + static_cast<std::uint64_t>(source[i]));
}

void drain_fixed(float* __restrict target, std::int64_t* __restrict source, std::size_t n, double unit) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    target[i] = static_cast<float>(static_cast<double>(source[i]) * unit);
    source[i] = 0;
  }
}

void drain_wide(float* __restrict target, std::int64_t* __restrict coarse, std::int64_t* __restrict fine, std::size_t n,
                double unit) {
#pragma omp simd
  for (std::size_t i = 0; i < n; ++i) {
    target[i] = static_cast<float>((static_cast<double>(coarse[i]) + static_cast<double>(fine[i]) * 0x1p-48) * unit);
    coarse[i] = 0;
    fine[i] = 0;
  }
}

bool ridge_solve(const float* x, const float* y, std::size_t n, std::size_t p, float ridge, float* w) {
  using matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto rows = static_cast<Eigen::Index>(n);
  const auto cols = static_cast<Eigen::Index>(p);
  const Eigen::Map<const matrix> design(x, rows, cols);
  const Eigen::Map<const Eigen::VectorXf> target(y, rows);
  matrix normal(cols, cols);
  // Not by Eigen, which splits long sums by the processor's cache sizes: results would differ between machines.
  multiply({x, p, true, x, p, false, normal.data(), p, p, p, n, false});
  normal.diagonal().array() += ridge;
  const Eigen::LLT<matrix> factor(normal);
  if (factor.info() != Eigen::Success) return false;
  const Eigen::VectorXf right = design.transpose() * target;
  Eigen::Map<Eigen::VectorXf>(w, cols) = factor.solve(right);
  return true;
}

}  // namespace

extern const kernel_table table;
const kernel_table table = {
    .level = FURLONG_LEVEL_NAME,
    .mf_gradient_step = mf_gradient_step,
    .mf_predict = mf_predict,
    .logistic_gradient = logistic_gradient,
    .descend = descend,
    .descend_momentum = descend_momentum,
    .subtract = subtract,
    .dot = dot,
    .norm_squared = norm_squared,
    .fold_fixed = fold_fixed,
    .fold_wide = fold_wide,
    .add_fixed = add_fixed,
    .drain_fixed = drain_fixed,
    .drain_wide = drain_wide,
    .multiply = multiply,
    .pack_right = pack_right,
    .multiply_packed = multiply_packed,
    .add_rows = add_rows,
    .gru_forward = gru_forward,
    .gru_backward = gru_backward,
    .softmax_gradient = softmax_gradient,
    .softmax_score = softmax_score,
    .lstm_forward = lstm_forward,
    .lstm_backward = lstm_backward,
    .ridge_solve = ridge_solve,
};

}  // namespace furlong::models::FURLONG_LEVEL
