// Bounds for [expect], from the runs of a scenario with several seeds.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "tools/runs/figures_json.hpp"

namespace furlong::tools {

/// A finished run of the scenario.
struct proposed_run {
  std::uint64_t seed = 0;
  json summary;
};

/// The table as TOML: of each figure of the evaluations mean +- `spread` standard deviations of the sample, rounded
/// outwards to five digits. Of a single run its hash at its kernels' level instead, and no bounds.
/// @param table "expect", or "smoke.expect"
[[nodiscard]] std::string proposed_bounds(const std::string& table, std::span<const proposed_run> runs, double spread);

}  // namespace furlong::tools
