#include "models/layers/packed_sequences.hpp"

#include <algorithm>
#include <numeric>

namespace furlong::models {

void pack(std::span<const std::uint32_t> lengths, packed_sequences& into) {
  into.order.resize(lengths.size());
  std::iota(into.order.begin(), into.order.end(), 0U);
  // A stable sort would allocate each time.
  std::ranges::sort(into.order,
                    [&](auto a, auto b) { return lengths[a] != lengths[b] ? lengths[a] > lengths[b] : a < b; });
  into.active.clear();
  into.begin.assign(1, 0);
  const std::uint32_t steps = lengths.empty() ? 0 : lengths[into.order.front()];
  auto active = static_cast<std::uint32_t>(lengths.size());
  for (std::uint32_t step = 0; step < steps; ++step) {
    while (lengths[into.order[active - 1]] <= step) --active;
    into.active.push_back(active);
    into.begin.push_back(into.begin.back() + active);
  }
}

}  // namespace furlong::models
