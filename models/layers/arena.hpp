// Memory for the activations of one step.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace furlong::models {

/// Allocates arrays that live until the next clear(). It takes memory from the system only in a step that needs more
/// than any before it, and once more at the clear() after that. One thread at a time.
class arena {
 public:
  /// `count` uninitialised floats, aligned to a cache line. Earlier arrays stay in place.
  [[nodiscard]] std::span<float> floats(std::size_t count);
  /// The same, all zero.
  [[nodiscard]] std::span<float> zeros(std::size_t count);
  /// Frees all arrays.
  void clear();

 private:
  struct free_floats {
    void operator()(float* block) const;
  };
  struct chunk {
    std::unique_ptr<float, free_floats> data;
    std::size_t size = 0;
    std::size_t used = 0;
  };
  void add_chunk(std::size_t at_least);

  std::vector<chunk> chunks_;
};

/// This thread's arena. Models clear it at the beginning of each call that uses it.
[[nodiscard]] arena& step_arena();

}  // namespace furlong::models
