#include "models/normal_equations.hpp"

#include <cmath>

namespace furlong::models {

namespace {

constexpr std::size_t lower_row(std::size_t k) { return k * (k + 1) / 2; }

}  // namespace

void add_example(std::span<float> sums, std::span<const float> x, float y) {
  float* to = sums.data();
  for (std::size_t k = 0; k < x.size(); ++k)
    for (std::size_t j = 0; j <= k; ++j) *to++ += x[k] * x[j];
  for (const float value : x) *to++ += y * value;
  *to += 1.0F;
}

std::span<const double> solve(std::span<const float> sums, std::size_t p, double ridge, double ridge_per_example,
                              normal_equations_scratch& scratch) {
  auto& [a, b] = scratch;
  const auto half = lower_row(p);
  a.assign(sums.begin(), sums.begin() + static_cast<std::ptrdiff_t>(half));
  b.assign(sums.begin() + static_cast<std::ptrdiff_t>(half), sums.begin() + static_cast<std::ptrdiff_t>(half + p));
  for (std::size_t k = 0; k < p; ++k) a[lower_row(k) + k] += ridge + ridge_per_example * sums[half + p];
  for (std::size_t k = 0; k < p; ++k) {
    double* row = a.data() + lower_row(k);
    for (std::size_t j = 0; j <= k; ++j) {
      const double* other = a.data() + lower_row(j);
      for (std::size_t m = 0; m < j; ++m) row[j] -= row[m] * other[m];
      if (j < k) row[j] /= other[j];
    }
    if (!(row[k] > 0.0)) return {};
    row[k] = std::sqrt(row[k]);
    for (std::size_t m = 0; m < k; ++m) b[k] -= row[m] * b[m];
    b[k] /= row[k];
  }
  for (std::size_t k = p; k-- > 0;) {
    const double* row = a.data() + lower_row(k);
    b[k] /= row[k];
    for (std::size_t m = 0; m < k; ++m) b[m] -= row[m] * b[k];
  }
  return b;
}

}  // namespace furlong::models
