#include "models/delta.hpp"

#include <algorithm>

namespace furlong::models {

delta to_dense(const delta& change) {
  delta dense{change.shape, {}, {}, std::vector<float>(change.shape->size(), 0.0F)};
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    dense.pieces.push_back({false, 0, 0, change.shape->offset(t)});
    const auto from = change.values_of(t);
    const auto to = dense.values_of(t);
    if (!change.pieces[t].by_rows) {
      std::ranges::copy(from, to.begin());
      continue;
    }
    const std::size_t cols = (*change.shape)[t].cols;
    const auto rows = change.rows_of(t);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::ranges::copy(from.subspan(r * cols, cols), to.begin() + static_cast<std::ptrdiff_t>(rows[r] * cols));
  }
  return dense;
}

void add_scaled(shared_parameters& to, const delta& change, float factor) {
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    const auto from = change.values_of(t);
    const auto values = to.tensor(t);
    if (!change.pieces[t].by_rows) {
      for (std::size_t i = 0; i < from.size(); ++i) values[i] += factor * from[i];
      continue;
    }
    const std::size_t cols = (*change.shape)[t].cols;
    const auto rows = change.rows_of(t);
    for (std::size_t r = 0; r < rows.size(); ++r)
      for (std::size_t c = 0; c < cols; ++c) values[rows[r] * cols + c] += factor * from[r * cols + c];
  }
}

}  // namespace furlong::models
