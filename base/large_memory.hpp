// Memory for large arrays.
#pragma once

#include <cstddef>
#include <vector>

namespace furlong {

/// At least `bytes` bytes, aligned to a cache line. From 2 MiB on they use huge pages if available, because a product
/// reads rows that are in different small pages. Throws std::bad_alloc.
[[nodiscard]] void* allocate_large(std::size_t bytes);
/// Frees memory of allocate_large(); null is allowed.
void free_large(void* block) noexcept;

/// Both as an allocator of the standard library.
template <class T>
struct large_allocator {
  using value_type = T;
  large_allocator() = default;
  template <class Other>
  large_allocator(const large_allocator<Other>& /*other*/) {}

  [[nodiscard]] T* allocate(std::size_t count) { return static_cast<T*>(allocate_large(count * sizeof(T))); }
  void deallocate(T* block, std::size_t /*count*/) { free_large(block); }
  friend bool operator==(const large_allocator&, const large_allocator&) { return true; }
};

using large_floats = std::vector<float, large_allocator<float>>;

}  // namespace furlong
