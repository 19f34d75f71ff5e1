// Linear equations by elimination, to compare solvers with.
#pragma once

#include <cstddef>
#include <vector>

namespace furlong::tests {

/// The solution of p equations of p unknowns.
/// @param rows the matrix of each equation, then its right side: p x (p + 1); no pivot is 0
[[nodiscard]] inline std::vector<double> solution_of(std::vector<std::vector<double>> rows) {
  const std::size_t p = rows.size();
  for (std::size_t k = 0; k < p; ++k)
    for (std::size_t other = 0; other < p; ++other) {
      if (other == k) continue;
      const double factor = rows[other][k] / rows[k][k];
      for (std::size_t j = k; j <= p; ++j) rows[other][j] -= factor * rows[k][j];
    }
  std::vector<double> solution(p);
  for (std::size_t k = 0; k < p; ++k) solution[k] = rows[k][p] / rows[k][k];
  return solution;
}

}  // namespace furlong::tests
