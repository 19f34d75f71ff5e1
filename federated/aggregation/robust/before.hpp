// What is done to the updates before a robust rule (algorithm.aggregation.before).
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "federated/aggregation/robust/cohort.hpp"

namespace furlong::federated::robust {

/// One step. A line of the table in before.cpp.
struct before_step {
  std::string kind;
  void (*apply)(cohort& rows, std::size_t bad, const option_values& options) = nullptr;
};

[[nodiscard]] const std::vector<before_step>& before_steps();
/// The step of a kind, or null.
[[nodiscard]] const before_step* find_before_step(std::string_view kind);

/// How many of n updates ARC clips: floor(2 (f / n) (n - f)), in integers.
[[nodiscard]] std::size_t arc_clipped(std::size_t count, std::size_t bad);

}  // namespace furlong::federated::robust
