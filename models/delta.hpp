// The difference between two sets of shared parameters, each tensor dense or row-sparse.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "models/parameters.hpp"

namespace furlong::models {

/// A difference of shared parameters. Row-sparse tensors list the changed rows, each once, in any order; all other rows
/// are unchanged. Only shared parameters have deltas: none can be made from private values.
struct delta {
  struct piece {
    bool by_rows = false;
    std::uint32_t row_begin = 0;  ///< first entry in `rows`; pieces may share entries
    std::uint32_t row_count = 0;
    std::size_t value_begin = 0;  ///< first entry in `values`
    friend bool operator==(const piece&, const piece&) = default;
  };

  layout_ptr shape;           ///< the shared layout
  std::vector<piece> pieces;  ///< one per tensor of the layout
  std::vector<std::uint32_t> rows;
  std::vector<float> values;

  /// The changed rows of a row-sparse tensor.
  [[nodiscard]] std::span<const std::uint32_t> rows_of(std::size_t tensor) const {
    return std::span(rows).subspan(pieces[tensor].row_begin, pieces[tensor].row_count);
  }
  /// The values of a tensor: all of them, or those of rows_of() in the same order.
  [[nodiscard]] std::span<const float> values_of(std::size_t tensor) const {
    return std::span(values).subspan(pieces[tensor].value_begin, value_count(tensor));
  }
  [[nodiscard]] std::span<float> values_of(std::size_t tensor) {
    return std::span(values).subspan(pieces[tensor].value_begin, value_count(tensor));
  }
  /// The same object as layout, rows in the same order, equal values.
  friend bool operator==(const delta&, const delta&) = default;

 private:
  [[nodiscard]] std::size_t value_count(std::size_t tensor) const {
    const auto& spec = (*shape)[tensor];
    return pieces[tensor].by_rows ? std::size_t{pieces[tensor].row_count} * spec.cols : spec.size();
  }
};

/// The same delta with every tensor dense.
[[nodiscard]] delta to_dense(const delta& change);

}  // namespace furlong::models
