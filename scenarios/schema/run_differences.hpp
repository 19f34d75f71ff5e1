// How the scenarios of two runs differ.
#pragma once

#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// What run_id() tells apart, in words and in the order of the keys: "scenario.seed was 7 and is 8". Empty when both
/// have the same id.
[[nodiscard]] std::vector<std::string> run_differences(const scenario& before, const scenario& after);

}  // namespace furlong::scenarios
