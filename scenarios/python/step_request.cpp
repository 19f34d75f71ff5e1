#include "scenarios/python/step_request.hpp"

#include <algorithm>
#include <cstring>

#include "base/shared_memory.hpp"

namespace furlong::scenarios {

namespace {

constexpr std::uint64_t no_gradient = UINT64_MAX;

}  // namespace

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

  std::size_t outside = 0;  // floats that are not in the memory file
  for (std::size_t t = 0; t < weights.size(); ++t) {
    if (!shared_offset(weights[t].data)) outside += weights[t].size();
    if (gradients != nullptr && (*gradients)[t] != nullptr && !shared_offset((*gradients)[t]))
      outside += weights[t].size();
  }
  if (copies.size() < outside) copies.resize(outside);
  float* free = copies.data();
  for (const auto& view : weights) {
    auto at = shared_offset(view.data);
    if (!at) {
      std::copy_n(view.data, view.size(), free);
      at = shared_offset(free);
      free += view.size();
    }
    request.put(at.value());
  }
  if (gradients != nullptr)
    for (std::size_t t = 0; t < weights.size(); ++t) {
      if ((*gradients)[t] == nullptr) {
        request.put(no_gradient);
        continue;
      }
      auto at = shared_offset((*gradients)[t]);
      if (!at) {
        at = shared_offset(free);
        free += weights[t].size();
      }
      request.put(at.value());
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

void step_request::read_copies(const large_floats& copies) const {
  const auto out = *gradients;
  const float* at = copies.data();
  for (const auto& view : weights)
    if (!shared_offset(view.data)) at += view.size();
  for (std::size_t t = 0; t < weights.size(); ++t) {
    if (out[t] == nullptr || shared_offset(out[t])) continue;
    std::copy_n(at, weights[t].size(), out[t]);
    at += weights[t].size();
  }
}

}  // namespace furlong::scenarios
