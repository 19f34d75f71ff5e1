// The discrete Fourier transform.
#pragma once

#include <complex>
#include <vector>

namespace furlong::federated::privacy::detail {

/// In place; the size must be a power of two. `inverse`: without the division by the size.
void transform(std::vector<std::complex<double>>& values, bool inverse);

}  // namespace furlong::federated::privacy::detail
