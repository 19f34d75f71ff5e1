// The folders of a store's shards: shard-0003.g12 is the twelfth generation of shard 3.
//
// A shard whose log has grown, or from which a client is erased, is written anew as the next generation: only what
// still counts is copied, so that nothing else is left in any file once the old folder is gone. The highest sealed
// generation counts; the seal is an empty file made when all else is durable. So a crash leaves the old or the new one.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <vector>

#include "models/result.hpp"

namespace furlong::storage::detail {

[[nodiscard]] std::filesystem::path generation_folder(const std::filesystem::path& store, std::uint32_t shard,
                                                      std::uint32_t generation);
/// Makes the content of a generation durable, then valid.
[[nodiscard]] result<void> seal_generation(const std::filesystem::path& folder);
/// The valid generation of each shard; none where nothing was stored yet. With `clean`, what other generations a crash
/// left behind is deleted.
[[nodiscard]] result<std::vector<std::optional<std::uint32_t>>> find_generations(const std::filesystem::path& store,
                                                                                 std::uint32_t shards, bool clean);

}  // namespace furlong::storage::detail
