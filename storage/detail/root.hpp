// The minimum content of a store: "root.furlong" in its folder.
//
// RocksDB opens without an error if its newest log is missing, or if a log or the MANIFEST was truncated between two
// records: it cannot know that there was more. The root records the content of each shard and is written at every save.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/private_store.hpp"

namespace furlong::storage::detail {

/// Lengths of the two files to which RocksDB appends.
struct file_ends {
  std::uint64_t manifest = 0;  ///< number of the MANIFEST
  std::uint64_t manifest_bytes = 0;
  std::uint64_t log = 0;  ///< number of the newest log
  std::uint64_t log_bytes = 0;

  /// True if both files are the same as in `then`, and not shorter.
  [[nodiscard]] bool reach(const file_ends& then) const {
    return manifest == then.manifest && manifest_bytes >= then.manifest_bytes && log == then.log &&
           log_bytes >= then.log_bytes;
  }
  friend bool operator==(const file_ends&, const file_ends&) = default;
};

/// The content of a shard at a moment. A generation never has less afterwards.
struct shard_state {
  std::uint32_t generation = 0;
  std::uint64_t writes = 0;   ///< to this generation so far
  std::uint64_t records = 0;  ///< values: at most two of a client
  file_ends files = {};
  friend bool operator==(const shard_state&, const shard_state&) = default;
};

/// By shard; none: nothing was stored in it.
using shard_states = std::vector<std::optional<shard_state>>;

struct store_root {
  federated::store_save last;  ///< id 0: none since creation
  federated::store_save base;  ///< of the checkpoint that was durable at the time of `last`
  shard_states shards;
};

/// A random id; never 0.
[[nodiscard]] result<std::uint64_t> random_id();

/// Replaces the root; durable on return.
[[nodiscard]] result<void> write_root(const std::filesystem::path& store, const store_root& root);
/// Fails if the file is missing, damaged, or belongs to a store with another id.
[[nodiscard]] result<store_root> read_root(const std::filesystem::path& store, std::uint64_t id, std::uint32_t shards);

/// The state of one shard as the content of a file.
[[nodiscard]] std::string to_bytes(const shard_state& state);
[[nodiscard]] result<shard_state> shard_state_of(std::string_view bytes, const std::filesystem::path& file);

}  // namespace furlong::storage::detail
