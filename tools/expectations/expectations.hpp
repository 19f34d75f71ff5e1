// Judges the [expect] table of a scenario against a finished run.
#pragma once

#include <functional>

#include "scenarios/schema/expectation.hpp"
#include "tools/expectations/figures.hpp"
#include "tools/expectations/finding.hpp"

namespace furlong::tools {

/// The summary of a baseline's run, or why there is none.
using baseline_summary = std::function<result<nlohmann::ordered_json>(const std::filesystem::path& scenario)>;

/// One finding per expectation, in order. A figure that the run does not have, or one that is not finite, fails.
[[nodiscard]] findings judge_expectations(const std::vector<scenarios::expectation>& expected,
                                          const nlohmann::ordered_json& summary, const baseline_summary& baseline);

}  // namespace furlong::tools
