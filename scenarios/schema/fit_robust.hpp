// The parts of robust rules that depend on the number of updates of a version.
#pragma once

#include "base/result.hpp"

namespace furlong::scenarios {

struct scenario;

/// Fails if no version can have the updates, or buckets of them, that the rule needs for what it must tolerate. Where
/// the policy draws how many clients take part, each version shows it.
[[nodiscard]] result<void> check_tolerated(const scenario& fitted);

}  // namespace furlong::scenarios
