// Participation records on disk, next to the checkpoint: an append-only file of changes since the last checkpoint, so
// that a checkpoint does not cost O(population). The checkpoint records the valid length of the file.
//
// One sealed block (detail/sealed_file.hpp) per checkpoint, with a Participation message; later records of a client
// replace earlier ones.
#pragma once

#include <filesystem>
#include <memory>

#include "base/result.hpp"
#include "federated/state/ledger.hpp"

namespace furlong::storage {

/// Appends the changes since the last call after the first stored_bytes() of the file (bytes beyond them belong to a
/// checkpoint that was not completed), and updates stored_bytes(). Durable on return.
[[nodiscard]] result<void> append_participation(const std::filesystem::path& folder,
                                                federated::participation_ledger& ledger);
/// Reads the records of `clients` clients from the first `bytes` of the file. Fails if any bit of them has changed.
[[nodiscard]] result<std::shared_ptr<federated::participation_ledger>> read_participation(
    const std::filesystem::path& folder, std::uint64_t clients, std::uint64_t bytes);

}  // namespace furlong::storage
