#include "models/model.hpp"

#include <algorithm>

namespace furlong::models {

void model::score_in_batches(std::span<const tensor_view> weights, const examples_view& examples,
                             std::uint32_t batch_size, class_scores& scores) const {
  const std::size_t step = batch_size == 0 ? std::max<std::size_t>(examples.size(), 1) : batch_size;
  for (std::size_t first = 0; first < examples.size(); first += step)
    score(weights, examples.slice(first, std::min(first + step, examples.size())), scores);
}

}  // namespace furlong::models
