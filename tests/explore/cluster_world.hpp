// A run whose work simulated workers do, which are killed, frozen, slow and added at any message, and the same run
// alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace furlong::tests {

/// What happened in a world, and what is wrong with it.
struct cluster_findings {
  std::vector<std::string> failures;
  std::string text;          ///< of the run, in a line
  std::uint64_t tasks = 0;   ///< reports of workers that reached the head
  std::uint64_t joined = 0;  ///< workers
  std::uint64_t killed = 0;
  std::uint64_t frozen = 0;
  std::uint64_t repeated = 0;  ///< jobs that were given again
  std::uint64_t lives = 0;     ///< of the head
  std::uint64_t refused = 0;   ///< private values that the store refused
  int mode = 0;                ///< add_mode
};

/// Plays the world of this seed: both runs.
[[nodiscard]] cluster_findings play_cluster_world(std::uint64_t seed);

}  // namespace furlong::tests
