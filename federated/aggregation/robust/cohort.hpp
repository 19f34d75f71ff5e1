// The updates of one version side by side, for rules that compare them.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.hpp"

namespace furlong::federated::robust {

/// n rows y = A S x of the updates x, in the order of their clients; S is diagonal, A mixes rows. At first both are the
/// identity. x is float32 and stays where it is, all else is double: rows y are computed where they are needed, a block
/// of values at a time. What it returns depends on the values of x and the order of rows alone. Not thread-safe.
class cohort {
 public:
  /// @param updates n rows of equal length, which outlive the cohort; n > 0
  explicit cohort(std::vector<std::span<const float>> updates);

  [[nodiscard]] std::size_t count() const { return updates_.size(); }
  /// Values of a row.
  [[nodiscard]] std::size_t size() const { return updates_.front().size(); }

  /// y_i . y_j. The first call takes n (n + 1) / 2 products of rows, and one after mix() n^3 operations.
  [[nodiscard]] double product(std::size_t i, std::size_t j) const;
  /// |y_i|. One pass over the row as long as neither product() nor mix() was called; the bits are those of product().
  [[nodiscard]] double norm(std::size_t i) const;
  /// |y_i - y_j|^2
  [[nodiscard]] double squared_distance(std::size_t i, std::size_t j) const;

  /// y_i becomes factors[i] y_i.
  void scale(std::span<const double> factors);
  /// y becomes B y.
  /// @param shares B, n x n row-major
  void mix(std::span<const double> shares);

  /// sum_i weights[i] y_i
  [[nodiscard]] std::vector<double> weighted_sum(std::span<const double> weights) const;
  /// Calls visit(position, sorted) for each position of a row, in ascending order, with the values of the chosen rows
  /// there, the lowest first.
  /// @param chosen ascending
  void each_position(std::span<const std::size_t> chosen,
                     function_ref<void(std::size_t position, std::span<const double> sorted)> visit) const;

 private:
  void need_products() const;

  std::vector<std::span<const float>> updates_;
  std::vector<double> scales_;
  std::vector<double> shares_;            // A; empty: the identity
  mutable std::vector<double> products_;  // of y; empty: not computed
};

}  // namespace furlong::federated::robust
