// Killing a process that writes to a private store, and judging what it left. For the tests and the benchmark.
//
// Commit number i belongs to a client, and has a value, that follow from i alone. The writer commits, now and then
// syncs, and then reports over a pipe which commit it has synced; the report stands for a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "storage/store_layout.hpp"

namespace furlong::tests {

/// What kind of store is written to.
struct kill_target {
  storage::store_layout layout = storage::store_layout::per_client;
  std::filesystem::path key_file = {};  ///< empty: not encrypted
};

/// Begins a life of the store that the words name (folder, first commit, pipe, layout, key file) and writes until
/// killed; reports go to the pipe as 8 bytes. Returns only on failure: exit code.
int write_until_killed(const std::vector<std::string>& words);

/// Sequence of kills on one store.
class kill_trials {
 public:
  /// `writer`: the command that calls write_until_killed with the five arguments that are appended.
  kill_trials(std::filesystem::path folder, std::vector<std::string> writer, kill_target target = {})
      : folder_(std::move(folder)), writer_(std::move(writer)), target_(std::move(target)) {}

  /// Starts the writer, kills it by SIGKILL soon after its `reports`-th report, and looks at every client: nothing that
  /// was reported is lost, no value is torn, and the next life begins with exactly what was reported.
  /// Returns what is wrong; empty when all is well.
  [[nodiscard]] std::string run(unsigned reports);
  /// Commits that were reported as synced so far.
  [[nodiscard]] std::uint64_t synced() const { return next_; }

 private:
  [[nodiscard]] std::string judge();

  std::filesystem::path folder_;
  std::vector<std::string> writer_;
  kill_target target_;
  std::uint64_t next_ = 0;
};

}  // namespace furlong::tests
