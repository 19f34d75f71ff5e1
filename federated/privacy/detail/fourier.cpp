#include "federated/privacy/detail/fourier.hpp"

#include <cmath>
#include <cstddef>
#include <numbers>
#include <utility>

namespace furlong::federated::privacy::detail {

void transform(std::vector<std::complex<double>>& values, bool inverse) {
  const std::size_t size = values.size();
  // Each root by itself: products of roots would add up their errors.
  std::vector<std::complex<double>> roots(size / 2);
  for (std::size_t i = 0; i < roots.size(); ++i) {
    const double angle = 2.0 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(size);
    roots[i] = {std::cos(angle), inverse ? std::sin(angle) : -std::sin(angle)};
  }
  for (std::size_t i = 1, j = 0; i < size; ++i) {  // to the order of reversed bits
    std::size_t bit = size / 2;
    for (; (j & bit) != 0; bit /= 2) j ^= bit;
    j ^= bit;
    if (i < j) std::swap(values[i], values[j]);
  }
  for (std::size_t half = 1; half < size; half *= 2) {
    const std::size_t stride = size / (2 * half);
    for (std::size_t block = 0; block < size; block += 2 * half)
      for (std::size_t i = 0; i < half; ++i) {
        auto& low = values[block + i];
        auto& high = values[block + i + half];
        const auto root = roots[i * stride];
        const double real = high.real() * root.real() - high.imag() * root.imag();
        const double imaginary = high.real() * root.imag() + high.imag() * root.real();
        high = {low.real() - real, low.imag() - imaginary};
        low = {low.real() + real, low.imag() + imaginary};
      }
  }
}

}  // namespace furlong::federated::privacy::detail
