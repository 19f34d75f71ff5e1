// Kept checkpoints of a run: starting points of replays.
//
// kept/VERSION in a run directory has a checkpoint and, if the run keeps private values, a snapshot of the private
// store of the same moment. They are written after the run's own checkpoint, which resuming uses: a crash in between
// leaves a version without a kept checkpoint. kept/digests.json has the digest of each: a copy of another run's is
// refused. Erasing a client removes every kept checkpoint whose snapshot has values
// of it: a snapshot without these values would give wrong replays.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/state/server_state.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

class kept_checkpoints {
 public:
  explicit kept_checkpoints(const run_directory& folder) : root_(folder.kept()), checkpoint_(folder.checkpoint()) {}

  /// The versions of kept checkpoints, ascending.
  [[nodiscard]] std::vector<std::uint64_t> versions() const;
  /// The folder of one of them, which is laid out like a run directory.
  [[nodiscard]] run_directory at(std::uint64_t version) const { return run_directory(root_ / std::to_string(version)); }
  /// Keeps the run's checkpoint, of this version and just made durable, with the content of the store, and removes all
  /// but the newest `keep`.
  [[nodiscard]] result<void> add(std::uint64_t version, const federated::private_store& store, std::size_t keep) const;
  /// Fails (kind data) unless this kept checkpoint is as it was written, and is an earlier moment of this run.
  /// @param state of it
  /// @param newest the run's own checkpoint
  [[nodiscard]] result<void> check(std::uint64_t version, const federated::server_state& state,
                                   const federated::server_state& newest) const;
  /// Removes those whose snapshot has values of one of these clients, or cannot be opened. Returns how many.
  /// @param key_file of encrypted stores
  [[nodiscard]] result<std::size_t> drop(std::span<const std::uint32_t> clients,
                                         const std::filesystem::path& key_file) const;

 private:
  [[nodiscard]] result<void> record(std::uint64_t version, const std::filesystem::path& checkpoint) const;
  [[nodiscard]] std::filesystem::path digests() const { return root_ / "digests.json"; }

  std::filesystem::path root_;
  std::filesystem::path checkpoint_;  ///< of the run
};

}  // namespace furlong::tools
