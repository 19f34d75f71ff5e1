// Killing a process that writes to a private store, and judging what it left. For the tests and the benchmark.
//
// Commit number i belongs to a client, and has a value, that follow from i alone. The writer commits, now and then
// syncs, and then reports over a pipe which commit it has synced; the report stands for a checkpoint.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace furlong::tests {

/// Begins a life of the store in `folder` at commit `from` and writes until killed; reports go to `pipe` as 8 bytes.
/// Returns only on failure: exit code.
int write_until_killed(const std::filesystem::path& folder, std::uint64_t from, int pipe);

/// Sequence of kills on one store.
class kill_trials {
 public:
  /// `writer`: the command that calls write_until_killed with the three arguments that are appended.
  kill_trials(std::filesystem::path folder, std::vector<std::string> writer)
      : folder_(std::move(folder)), writer_(std::move(writer)) {}

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
  std::uint64_t next_ = 0;
};

}  // namespace furlong::tests
