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
      auto* memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, 0);
      if (memory == MAP_FAILED) continue;
      begin = static_cast<std::byte*>(memory);
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
  auto& shared = file();
  const std::lock_guard guard(shared.lock);
  if (!shared.open && shared.map()) shared.open = true;
  return shared.descriptor;
}

std::optional<std::uint64_t> shared_offset(const void* block) {
  auto& shared = file();
  if (!shared.open) return std::nullopt;
  const auto* bytes = static_cast<const std::byte*>(block);
  if (std::less<>()(bytes, shared.begin) || !std::less<>()(bytes, shared.begin + shared.size)) return std::nullopt;
  return static_cast<std::uint64_t>(bytes - shared.begin);
}

void* detail::allocate_shared(std::size_t bytes) {
  auto& shared = file();
  if (!shared.open) return nullptr;
  // Sizes are powers of two: returned blocks are used again, and the file stays small.
  const std::size_t size = std::bit_ceil(std::max(bytes, page));
  const std::size_t unit = std::min(size, huge_page);
  const std::lock_guard guard(shared.lock);
  void* block = nullptr;
  if (auto& spare = shared.returned[size]; !spare.empty()) {
    block = spare.back();
    spare.pop_back();
  } else {
    const std::size_t start = (shared.used + unit - 1) / unit * unit;
    if (size > shared.size || start > shared.size - size) return nullptr;
    shared.used = start + size;
    block = shared.begin + start;
  }
  shared.blocks[block] = size;
  return block;
}

bool detail::free_shared(void* block) noexcept {
  if (!shared_offset(block)) return false;
  auto& shared = file();
  const std::lock_guard guard(shared.lock);
  const auto found = shared.blocks.find(block);
  madvise(block, found->second, MADV_REMOVE);  // gives the pages back; best effort
  shared.returned[found->second].push_back(block);
  shared.blocks.erase(found);
  return true;
}

}  // namespace furlong
