#include "scenarios/python/step_request.hpp"

#include <algorithm>
#include <cstring>

#include "scenarios/python/memory_room.hpp"

namespace furlong::scenarios {

std::size_t part_of(std::span<const std::uint32_t> starts, std::uint32_t example) {
  return static_cast<std::size_t>(std::ranges::upper_bound(starts, example) - starts.begin()) - 1;
}

void step_request::write(std::span<const std::uint32_t> starts, request_buffer& request, large_floats& copies) const {
  request.clear();
  request.put(seed);
  request.put(round);
  request.put(static_cast<std::uint32_t>(weights.size()));
  const std::size_t groups_at = request.bytes().size();
  request.put(std::uint32_t{0});
  request.put(seed == 0 ? batch_size : static_cast<std::uint32_t>(dropout));

  memory_room room(copies);
  for (const auto& view : weights) room.expect(view.data, view.size());
  if (gradients != nullptr)
    for (std::size_t t = 0; t < weights.size(); ++t)
      if ((*gradients)[t] != nullptr) room.expect((*gradients)[t], weights[t].size());
  for (const auto& view : weights) request.put(room.place(view.data, view.size(), true));
  if (gradients != nullptr)
    for (std::size_t t = 0; t < weights.size(); ++t) {
      auto* target = (*gradients)[t];
      request.put(target == nullptr ? not_wanted : room.place(target, weights[t].size(), false));
    }

  std::uint32_t groups = 0;
  for (std::size_t i = 0; i < examples.size(); ++groups) {
    const auto part = part_of(starts, examples[i]);
    std::size_t end = i;
    while (end < examples.size() && examples[end] >= starts[part] && examples[end] < starts[part + 1]) ++end;
    request.put(static_cast<std::uint32_t>(part / 3));
    request.put(static_cast<std::uint32_t>(part % 3));
    request.put(static_cast<std::uint32_t>(end - i));
    i = end;
  }
  for (std::size_t i = 0; i < examples.size();) {
    const auto part = part_of(starts, examples[i]);
    for (; i < examples.size() && examples[i] >= starts[part] && examples[i] < starts[part + 1]; ++i)
      request.put(examples[i] - starts[part]);
  }
  std::memcpy(request.bytes().data() + groups_at, &groups, sizeof groups);
}

void step_request::read_copies(large_floats& copies) const {
  memory_room room(copies);
  for (const auto& view : weights) room.skip(view.data, view.size());
  for (std::size_t t = 0; t < weights.size(); ++t)
    if (auto* target = (*gradients)[t]; target != nullptr) room.fetch(target, weights[t].size());
}

}  // namespace furlong::scenarios
