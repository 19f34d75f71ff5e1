#include "base/shared_memory.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <fcntl.h>
#include <map>
#include <mutex>
#include <sys/mman.h>
#include <unistd.h>
#include <unordered_map>
#include <vector>

namespace furlong {

namespace {

constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{1} << 21U;
constexpr std::size_t most_bytes = std::size_t{1} << 38U;  ///< of addresses: pages count from their first use
constexpr std::size_t fewest_bytes = std::size_t{1} << 30U;

struct shared_file {
  std::mutex lock;
  int descriptor = -1;
  std::byte* begin = nullptr;
  std::size_t size = 0;
  std::size_t used = 0;
  std::unordered_map<void*, std::size_t> blocks;       ///< in use, with their sizes
  std::map<std::size_t, std::vector<void*>> returned;  ///< by size
  std::atomic<bool> open = false;

  bool map() {
    descriptor = memfd_create("furlong", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return false;
    for (size = most_bytes; size >= fewest_bytes; size /= 2) {  // limits of address space or file size may forbid it
      if (ftruncate(descriptor, static_cast<off_t>(size)) != 0) continue;
      auto* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
      if (at == MAP_FAILED) continue;
      begin = static_cast<std::byte*>(at);
      // Another process that shortened the file would end this one, by SIGBUS at its next access.
      fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
      return true;
    }
    close(descriptor);
    descriptor = -1;
    return false;
  }
};

/// Never destroyed: arrays of static storage are freed after it would be.
shared_file& file() {
  static auto* const only = new shared_file;
  return *only;
}

}  // namespace

int share_large_memory() {
  auto& to = file();
  const std::lock_guard guard(to.lock);
  if (!to.open && to.map()) to.open = true;
  return to.descriptor;
}

std::optional<std::uint64_t> shared_offset(const void* block) {
  auto& in = file();
  if (!in.open) return std::nullopt;
  const auto* at = static_cast<const std::byte*>(block);
  if (std::less<>()(at, in.begin) || !std::less<>()(at, in.begin + in.size)) return std::nullopt;
  return static_cast<std::uint64_t>(at - in.begin);
}

void* detail::allocate_shared(std::size_t bytes) {
  auto& from = file();
  if (!from.open) return nullptr;
  // Sizes are powers of two: returned blocks are used again, and the file stays small.
  const std::size_t size = std::bit_ceil(std::max(bytes, page));
  const std::size_t unit = std::min(size, huge_page);
  const std::lock_guard guard(from.lock);
  void* block = nullptr;
  if (auto& spare = from.returned[size]; !spare.empty()) {
    block = spare.back();
    spare.pop_back();
  } else {
    const std::size_t at = (from.used + unit - 1) / unit * unit;
    if (size > from.size || at > from.size - size) return nullptr;
    from.used = at + size;
    block = from.begin + at;
  }
  from.blocks[block] = size;
  return block;
}

bool detail::free_shared(void* block) noexcept {
  if (!shared_offset(block)) return false;
  auto& of = file();
  const std::lock_guard guard(of.lock);
  const auto at = of.blocks.find(block);
  madvise(block, at->second, MADV_REMOVE);  // gives the pages back; best effort
  of.returned[at->second].push_back(block);
  of.blocks.erase(at);
  return true;
}

}  // namespace furlong
