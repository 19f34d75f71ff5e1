// The parts of robust rules that depend on the number of updates of a version.
#pragma once

#include <cstdint>
#include <span>

#include "base/result.hpp"

namespace furlong::scenarios {

struct scenario;

/// Fails if no version can have the updates, or buckets of them, that the rule needs for what it must tolerate. Where
/// the policy draws how many clients take part, each version shows it.
[[nodiscard]] result<void> check_tolerated(const scenario& fitted);

/// Of a rule with trusted clients: fails if one does not train, and notes how likely a round has none.
[[nodiscard]] result<void> check_root(scenario& fitted, std::span<const std::uint32_t> training);

}  // namespace furlong::scenarios
