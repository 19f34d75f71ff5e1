// Arrays of random numbers for tests of kernels and layers.
#pragma once

#include <vector>

#include "base/random.hpp"

namespace furlong::tests {

[[nodiscard]] inline std::vector<float> drawn(std::size_t n, std::uint32_t part, float low = -1.0F, float high = 1.0F) {
  random_stream stream(13, purpose::test, 0, 0, part);
  std::vector<float> values(n);
  for (auto& value : values) value = stream.uniform(low, high);
  return values;
}

[[nodiscard]] inline std::vector<std::uint32_t> drawn_below(std::size_t n, std::uint32_t part, std::uint32_t bound) {
  random_stream stream(14, purpose::test, 0, 0, part);
  std::vector<std::uint32_t> values(n);
  for (auto& value : values) value = stream.below(bound);
  return values;
}

}  // namespace furlong::tests
