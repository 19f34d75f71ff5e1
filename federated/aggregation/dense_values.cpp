#include "federated/aggregation/dense_values.hpp"

#include <algorithm>

#include "federated/aggregation/rule.hpp"

namespace furlong::federated {

std::span<const float> dense_values(const models::layout& shared, const models::delta& change,
                                    std::span<const std::size_t> tensors, std::vector<float>& room) {
  const auto follows = [&](std::size_t i) {  // the values of the tensor before
    const auto& piece = change.pieces[tensors[i]];
    if (piece.by_rows) return false;
    return i == 0 || piece.value_begin == change.pieces[tensors[i - 1]].value_begin + shared[tensors[i - 1]].size();
  };
  std::size_t size = 0;
  bool is_dense = !tensors.empty();
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    size += shared[tensors[i]].size();
    is_dense = is_dense && follows(i);
  }
  if (is_dense) return std::span(change.values).subspan(change.pieces[tensors.front()].value_begin, size);
  room.assign(size, 0.0F);
  std::size_t begin = 0;
  for (const auto tensor : tensors) {
    const auto first = shared.offset(tensor);
    for_each_run(shared, tensor, change, [&](std::size_t position, std::span<const float> values) {
      std::ranges::copy(values, room.begin() + static_cast<std::ptrdiff_t>(begin + position - first));
    });
    begin += shared[tensor].size();
  }
  return room;
}

}  // namespace furlong::federated
