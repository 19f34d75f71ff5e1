// A view of the values of one tensor.
#pragma once

#include <cstddef>
#include <cstdint>

namespace furlong::models {

/// Row-major, `rows` x `cols`.
struct tensor_view {
  float* data = nullptr;
  std::uint32_t rows = 0;
  std::uint32_t cols = 0;

  [[nodiscard]] float* row(std::size_t r) const { return data + r * cols; }
  [[nodiscard]] std::size_t size() const { return std::size_t{rows} * cols; }
};

}  // namespace furlong::models
