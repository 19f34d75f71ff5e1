// The versions of the parts of a run that other programs registered: their results depend on more than the scenario and
// furlong's own version.
#pragma once

#include <string>
#include <string_view>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// The registered parts that a scenario uses, each with its version: {"algorithm.kind=fednova", "2"}. Parts of furlong
/// itself have none. Compared as source code is (check_same_code).
[[nodiscard]] source_code parts_of(const scenario& run);
/// Those of them that nodes and aggregators have too: all but the selection policy.
[[nodiscard]] source_code told_parts_of(const scenario& run);
/// True for the name of a part, false for that of a file.
[[nodiscard]] bool is_part(std::string_view name);

/// Checks the parts of this process against those that the server has. Fails (kind usage), naming the first one that
/// differs and its versions.
/// @param told code_text() of the server's told_parts_of()
[[nodiscard]] result<void> check_parts(const scenario& run, const std::string& told);

}  // namespace furlong::scenarios
