// Configurations: runs that differ in their seed alone.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// Runs whose resolved scenarios are equal but for scenario.seed, for seeds that follow it (data.split_seed), and for
/// keys that change no result ([checkpoint], [expect], the layout of the store, ...). Runs without a scenario.toml are
/// distinguished by name, algorithm, model and protocol.
struct configuration {
  /// Short, and no two equal: the scenario's name, then the algorithm, then the keys in which the configurations of
  /// this name and algorithm differ, each as far as it distinguishes configurations; never the seed. In brackets: "not
  /// personalized" of runs that train in one place and have nothing of a single client in their model, and the protocol
  /// of what is no language model beside language models.
  std::string label;
  std::string name;  ///< of the scenario
  std::string algorithm;
  /// The keys in which the configurations compared differ, in the order of the scenario, as TOML without quotes around
  /// texts. A key that this configuration does not have is missing.
  std::vector<std::pair<std::string, std::string>> settings;
  std::vector<std::size_t> runs;    ///< indices of the runs that count, by ascending seed, each seed once
  std::vector<std::size_t> failed;  ///< of those that failed, diverged, or have not ended: no figure counts them
};

/// The configurations in order of their first run. Where one would have two finished runs of the same seed, as with two
/// versions of Furlong, the runs of different parent folders are configurations of their own.
[[nodiscard]] std::vector<configuration> configurations_of(std::span<const run_record> runs);

/// "done" of a run that counts, else "failed", "diverged" or "not ended".
[[nodiscard]] std::string_view state_word(const run_record& run);

}  // namespace furlong::tools
