// One memory file that other processes map: arrays in it are shared with them without a copy.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace furlong {

/// From now on allocate_large() takes memory from the file, as long as there is room in it. Opens the file at the first
/// call, and returns its descriptor, which closes on exec; -1 where the system refuses. The file's size is sealed: a
/// process that has the descriptor cannot change it. Thread-safe.
int share_large_memory();
/// Where memory of allocate_large() is in the file; nothing where it is not in it. Thread-safe.
[[nodiscard]] std::optional<std::uint64_t> shared_offset(const void* block);

namespace detail {
/// A block aligned to a page; null: nothing is shared, or there is no room.
[[nodiscard]] void* allocate_shared(std::size_t bytes);
/// False where the block is not in the file.
bool free_shared(void* block) noexcept;
}  // namespace detail

}  // namespace furlong
