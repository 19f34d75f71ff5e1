// Looking into, and meddling with, the files of a store.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tests/storage/store_kinds.hpp"

namespace furlong::tests {

/// The content of every file below the folder of a store; of encrypted ones, what the key gives.
[[nodiscard]] std::vector<std::string> opened_files(const store_kind& kind, const fs::path& folder);

/// Replaces a record in the first of a client's slots by `bytes`, past the store but with its file key. The store is
/// not open, has one shard, and the shard is of generation 0.
void overwrite_record(const store_kind& kind, const fs::path& folder, std::uint32_t client, std::string_view bytes);

}  // namespace furlong::tests
