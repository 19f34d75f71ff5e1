// The settings of docs/robustness.md, one for each kind of data, and what they cost a run without bad clients.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/common.hpp"
#include "scenarios/schema/scenario.hpp"

namespace furlong::campaigns {

/// For ratings and interactions, or for other data.
[[nodiscard]] std::vector<scenarios::setting_override> written_settings(bool ratings);

/// How good a run is, the larger the better.
using run_quality = std::function<double(std::uint64_t seed)>;
/// The figure honest-cost: the worst ratio over the seeds of a run with these settings to one without them.
void add_cost(const std::string& name, const std::vector<std::uint64_t>& seeds, const run_quality& plain,
              const run_quality& written, bench::figures& out);

}  // namespace furlong::campaigns
