#include "models/delta.hpp"

#include <algorithm>

namespace furlong::models {

delta to_dense(const delta& change) {
  delta dense{change.shape, {}, {}, std::vector<float>(change.shape->size(), 0.0F)};
  for (std::size_t t = 0; t < change.shape->count(); ++t) {
    dense.pieces.push_back({false, 0, 0, change.shape->offset(t)});
    const auto source = change.values_of(t);
    const auto target = dense.values_of(t);
    if (!change.pieces[t].by_rows) {
      std::ranges::copy(source, target.begin());
      continue;
    }
    const std::size_t cols = (*change.shape)[t].cols;
    const auto rows = change.rows_of(t);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::ranges::copy(source.subspan(r * cols, cols), target.begin() + static_cast<std::ptrdiff_t>(rows[r] * cols));
  }
  return dense;
}

}  // namespace furlong::models
