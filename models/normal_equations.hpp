// Sums of a least-squares problem with p unknowns, in one row of floats: they add up over any split of the examples.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace furlong::models {

/// A row has the lower half of sum x x' by rows, sum y x, and the number of examples.
[[nodiscard]] constexpr std::size_t normal_equations_size(std::size_t p) { return p * (p + 1) / 2 + p + 1; }

/// Adds an example: y is to be explained by <x, w>.
void add_example(std::span<float> sums, std::span<const float> x, float y);

/// Reusable memory of solve().
struct normal_equations_scratch {
  std::vector<double> left;
  std::vector<double> solution;
};
/// The w of the least sum (y - <x, w>)^2 + (ridge + ridge_per_example n) |w|^2, by Cholesky's factorization in double;
/// w is in `scratch` until its next use. Empty if the matrix is not positive definite, which a ridge > 0 rules out but
/// for rounding.
[[nodiscard]] std::span<const double> solve(std::span<const float> sums, std::size_t p, double ridge,
                                            double ridge_per_example, normal_equations_scratch& scratch);
/// The same of sums to which noise was added: sum x x' is first replaced by the nearest positive semidefinite matrix,
/// and a negative n by 0 (Chien et al. 2021, algorithm 1). ridge > 0.
[[nodiscard]] std::span<const double> solve_noisy(std::span<const float> sums, std::size_t p, double ridge,
                                                  double ridge_per_example, normal_equations_scratch& scratch);

}  // namespace furlong::models
