// The folders of a store's shards: shard-0003.g12 is the twelfth generation of shard 3.
//
// A shard whose log has grown, or from which a client is erased, is written anew as the next generation: only what
// still counts is copied, so that nothing else is left in any file once the old folder is gone. The highest sealed
// generation counts. The seal is a file that is made when all else is durable, so that a crash leaves the old or the
// new one; it says what the generation had then.
#pragma once

#include <cstdint>
#include <filesystem>

#include "base/result.hpp"
#include "storage/detail/root.hpp"

namespace furlong::storage::detail {

[[nodiscard]] std::filesystem::path generation_folder(const std::filesystem::path& store, std::uint32_t shard,
                                                      std::uint32_t generation);
/// Makes the content of a generation durable, then valid.
[[nodiscard]] result<void> seal_generation(const std::filesystem::path& folder, const shard_state& content);
/// What each shard's valid generation must have at least. Fails when it is older than `saved` says, or gone. With
/// `clean`, what other generations a crash left behind is deleted.
[[nodiscard]] result<shard_states> find_generations(const std::filesystem::path& store, const shard_states& saved,
                                                    bool clean);

}  // namespace furlong::storage::detail
