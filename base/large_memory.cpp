#include "base/large_memory.hpp"

#include <algorithm>
#include <cstdlib>
#include <new>
#include <sys/mman.h>

#include "base/shared_memory.hpp"

namespace furlong {

namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t huge_page = std::size_t{1} << 21;

}  // namespace

void* allocate_large(std::size_t bytes) {
  if (auto* shared = detail::allocate_shared(bytes); shared != nullptr) return shared;
  const std::size_t unit = bytes < huge_page ? cache_line : huge_page;
  const std::size_t size = std::max(unit, (bytes + unit - 1) / unit * unit);
  if (size < bytes) throw std::bad_alloc();
  void* block = nullptr;
  while ((block = std::aligned_alloc(unit, size)) == nullptr) {  // as operator new does
    const auto handler = std::get_new_handler();
    if (handler == nullptr) throw std::bad_alloc();
    handler();
  }
  if (unit == huge_page) madvise(block, size, MADV_HUGEPAGE);  // best effort: small pages are only slower
  return block;
}

void free_large(void* block) noexcept {
  if (!detail::free_shared(block)) std::free(block);
}

}  // namespace furlong
