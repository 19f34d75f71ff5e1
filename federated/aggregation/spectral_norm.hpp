// The largest singular value of a matrix.
#pragma once

#include <cstddef>
#include <span>

namespace furlong::federated {

/// ||A||_2 of a row-major matrix with `cols` columns; the L2 norm if it has one row or one column; 0 if it is empty.
/// Rows of zeros do not change the result: a list of rows has, to the last bit, the norm of the matrix whose other rows
/// are zero.
///
/// Power iteration (Golub and Van Loan, Matrix computations, section 8.2) on S, the smaller of A'A and A A', n x n: a
/// step multiplies by S^16, computed by squaring. Starts from a fixed vector and ends when the residual bounds the
/// relative error by 1e-5, after at most 100 steps. One matrix product of 2 rows cols n operations, four of 2 n^3,
/// steps of 4 n^2, and 12 n^2 bytes. Deterministic for a kernel level.
[[nodiscard]] double spectral_norm(std::span<const float> all, std::size_t cols);

}  // namespace furlong::federated
