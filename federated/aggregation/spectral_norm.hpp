// The largest singular value of a matrix.
#pragma once

#include <cstddef>
#include <span>

namespace furlong::federated {

/// ||A||_2 of a row-major matrix with `cols` columns; the L2 norm when it has one row or one column; 0 when it has
/// none. Rows of zeros do not count: a list of some rows of a matrix has the norm, to the last bit, of the matrix whose
/// other rows are zero.
///
/// Power iteration (Golub and Van Loan, Matrix computations, section 8.2) on S, the smaller of A'A and A A', n x n: a
/// step multiplies by S^16, found by squaring. From a fixed start until the residual says that an eigenvalue is within
/// 1e-5 of the estimate, relatively, at most 100 steps. One matrix product of 2 rows cols n operations, four of 2 n^3,
/// steps of 4 n^2, and 12 n^2 bytes. Deterministic for a kernel level.
[[nodiscard]] double spectral_norm(std::span<const float> all, std::size_t cols);

}  // namespace furlong::federated
