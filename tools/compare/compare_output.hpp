// A comparison for programs, and at length for people.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>

#include "tools/compare/comparison.hpp"

namespace furlong::tools {

/// As docs/schemas/compare.schema.json describes it. Differences are those from the baseline's configuration.
[[nodiscard]] nlohmann::ordered_json compare_json(std::span<const run_record> runs, const comparison& compared,
                                                  std::size_t baseline);
/// A line for each figure and configuration, the last one without its end.
[[nodiscard]] std::string compare_csv(const comparison& compared, std::size_t baseline);
/// A table for each figure, then notes.
[[nodiscard]] std::string compare_text(std::span<const run_record> runs, const comparison& compared,
                                       std::size_t baseline);

}  // namespace furlong::tools
