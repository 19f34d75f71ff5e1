#include "federated/aggregation/row_sums.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "models/kernels/kernels.hpp"

namespace furlong::federated {

double sum_over_rows(const models::layout& shared, const models::delta& change,
                     function_ref<double(std::size_t, std::span<const float>)> measure) {
  double sum = 0.0;
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < shared.count(); ++t) {
    const auto values = change.values_of(t);
    const auto begin = shared.offset(t);
    if (shared[t].index == models::row_index::none && !change.pieces[t].by_rows) {
      sum += measure(begin, values);
      continue;
    }
    const std::size_t cols = shared[t].cols;
    const bool by_rows = change.pieces[t].by_rows;
    order.resize(values.size() / cols);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (by_rows) std::ranges::sort(order, {}, [rows = change.rows_of(t)](std::size_t i) { return rows[i]; });
    for (const auto i : order)
      sum += measure(begin + (by_rows ? change.rows_of(t)[i] : i) * cols, values.subspan(i * cols, cols));
  }
  return sum;
}

double norm_of(const models::layout& shared, const models::delta& change) {
  return std::sqrt(sum_over_rows(shared, change, [](std::size_t, std::span<const float> values) {
    return models::kernels().norm_squared(values.data(), values.size());
  }));
}

}  // namespace furlong::federated
