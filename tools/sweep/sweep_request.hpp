// The options of a sweep or a tuning that say what to run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "scenarios/schema/scenario.hpp"
#include "tools/sweep/grid.hpp"

namespace furlong::tools {

struct sweep_request {
  std::vector<std::filesystem::path> scenarios;
  std::vector<grid_option> grid;
  std::vector<std::uint64_t> seeds;  ///< of all runs; empty: the seed of each scenario
  std::vector<scenarios::setting_override> overrides;
  bool smoke = false;
};

}  // namespace furlong::tools
