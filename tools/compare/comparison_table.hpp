// Configurations as a table, for the terminal and for the report.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "tools/compare/comparison.hpp"
#include "tools/compare/text_table.hpp"

namespace furlong::tools {

/// A table for the terminal, one row per configuration (configurations.hpp) with its means and standard deviations, a
/// '*' after the best value of a column, and notes; empty without runs.
[[nodiscard]] std::string comparison_table(std::span<const run_record> runs);

/// Its columns before those of figures: what distinguishes the configurations, and which runs their figures are from.
[[nodiscard]] std::vector<text_column> leading_columns(std::span<const run_record> runs, const comparison& compared);

}  // namespace furlong::tools
