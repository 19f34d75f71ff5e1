// The folders of a store's shards: shard-0003.g12 is the twelfth generation of shard 3.
//
// When the log of a shard has grown, or a client is erased, the shard is rewritten as the next generation: only current
// values are copied, so that no other data remain in any file once the old folder is deleted. The highest sealed
// generation is valid. The seal is a file that is created once all else is durable, so that a crash leaves the old or
// the new generation; it records the content of the generation at that time.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.hpp"
#include "storage/detail/root.hpp"

namespace furlong::storage::detail {

[[nodiscard]] std::filesystem::path generation_folder(const std::filesystem::path& store, std::uint32_t shard,
                                                      std::uint32_t generation);
/// Makes the content of a generation durable, then seals it.
[[nodiscard]] result<void> seal_generation(const std::filesystem::path& folder, const shard_state& content);
/// The minimum content of each shard's valid generation. Fails if a generation is missing or older than in `saved`.
/// With `clean`, deletes other generations that a crash left behind.
[[nodiscard]] result<shard_states> find_generations(const std::filesystem::path& store, const shard_states& saved,
                                                    bool clean);

}  // namespace furlong::storage::detail
