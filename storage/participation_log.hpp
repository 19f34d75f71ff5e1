// Participation records on disk, beside the checkpoint: a file that grows by what changed since the last checkpoint, so
// that a checkpoint does not cost O(population). The checkpoint says how much of it counts.
//
// Blocks, one a checkpoint, each sealed (detail/sealed_file.hpp) and holding a Participation message; later records of
// a client replace earlier ones.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.hpp"
#include "federated/participation/ledger.hpp"

namespace furlong::storage {

/// Appends what changed since the last call, behind the first stored_bytes() of the file (what stands after them is of
/// a checkpoint that never was), and sets stored_bytes(). Durable on return.
[[nodiscard]] result<void> append_participation(const std::filesystem::path& folder,
                                                federated::participation_ledger& ledger);
/// The records of `clients` clients, from the first `bytes` of the file. Fails when any bit of those has changed.
[[nodiscard]] result<std::shared_ptr<federated::participation_ledger>> read_participation(
    const std::filesystem::path& folder, std::uint64_t clients, std::uint64_t bytes);

}  // namespace furlong::storage
