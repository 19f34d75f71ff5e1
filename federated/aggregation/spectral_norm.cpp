#include "federated/aggregation/spectral_norm.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/random.hpp"
#include "models/kernels/kernels.hpp"

namespace furlong::federated {

namespace {

constexpr int most_steps = 100;
constexpr double tolerance = 1e-5;

double norm_of(std::span<const float> v) { return std::sqrt(models::kernels().norm_squared(v.data(), v.size())); }

/// True if a row is zero.
bool is_zero(std::span<const float> row) {
  return std::ranges::all_of(row, [](float value) { return value == 0.0F; });
}

/// The matrix without its rows of zeros, copied to `room` if it has any: the same bits with and without them.
std::span<const float> without_zero_rows(std::span<const float> matrix, std::size_t cols, std::vector<float>& room) {
  std::size_t zeros = 0;
  for (std::size_t at = 0; at < matrix.size(); at += cols) zeros += is_zero(matrix.subspan(at, cols)) ? 1 : 0;
  if (zeros == 0) return matrix;
  room.reserve(matrix.size() - zeros * cols);
  for (std::size_t at = 0; at < matrix.size(); at += cols)
    if (const auto row = matrix.subspan(at, cols); !is_zero(row)) room.insert(room.end(), row.begin(), row.end());
  return room;
}

/// op(a) op(a)', n x n, where op(a) has n rows.
std::vector<float> product_with_itself(std::span<const float> a, std::size_t cols, bool transposed) {
  const std::size_t rows = a.size() / cols;
  const std::size_t n = transposed ? cols : rows;
  std::vector<float> made(n * n);
  models::kernels().multiply({.a = a.data(),
                              .a_stride = cols,
                              .a_transposed = transposed,
                              .b = a.data(),
                              .b_stride = cols,
                              .b_transposed = !transposed,
                              .c = made.data(),
                              .c_stride = n,
                              .m = n,
                              .n = n,
                              .k = transposed ? rows : cols,
                              .accumulate = false});
  return made;
}

void scale_to_one(std::span<float> v) {
  const double length = norm_of(v);
  if (length > 0.0)
    for (auto& x : v) x = static_cast<float>(x / length);
}

/// S^16, scaled: one step with it equals sixteen with S.
std::vector<float> sixteenth_power(std::vector<float> symmetric, std::size_t n) {
  for (int squaring = 0; squaring < 4; ++squaring) {
    scale_to_one(symmetric);
    symmetric = product_with_itself(symmetric, n, false);
  }
  scale_to_one(symmetric);
  return symmetric;
}

void multiply(std::span<const float> matrix, const std::vector<float>& v, std::vector<float>& out) {
  const std::size_t n = v.size();
  for (std::size_t i = 0; i < n; ++i)
    out[i] = static_cast<float>(models::kernels().dot(matrix.data() + i * n, v.data(), n));
}

/// The largest eigenvalue of a positive semi-definite matrix.
double largest_eigenvalue(const std::vector<float>& matrix, std::size_t n) {
  const auto power = sixteenth_power(matrix, n);
  random_stream stream(0, purpose::power_iteration);
  std::vector<float> v(n);
  std::vector<float> image(n);
  for (auto& x : v) x = stream.normal();
  double value = 0.0;
  for (int step = 0; step < most_steps; ++step) {
    multiply(power, v, image);
    v.swap(image);
    scale_to_one(v);
    multiply(matrix, v, image);
    value = models::kernels().dot(v.data(), image.data(), n);
    for (std::size_t i = 0; i < n; ++i) image[i] = static_cast<float>(image[i] - value * v[i]);
    if (norm_of(image) <= tolerance * value) break;
  }
  return value;
}

}  // namespace

double spectral_norm(std::span<const float> all, std::size_t cols) {
  std::vector<float> room;
  const auto matrix = cols == 0 ? all : without_zero_rows(all, cols, room);
  const double frobenius = norm_of(matrix);
  if (cols <= 1 || matrix.size() <= cols || !(frobenius > 0.0) || !std::isfinite(frobenius)) return frobenius;
  const std::size_t rows = matrix.size() / cols;
  return std::sqrt(largest_eigenvalue(product_with_itself(matrix, cols, cols <= rows), std::min(rows, cols)));
}

}  // namespace furlong::federated
