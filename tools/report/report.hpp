// Reports of runs: draws them in one HTML file.
//
// The HTML file is self-contained (styles, plots and a little script are inline; it asks for nothing from a network),
// opens offline, prints, and follows the reader's light or dark setting. It holds no date and no path: the same runs
// give the same bytes.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// Writes the report of one run, or the comparison of several, to one HTML file. The file appears whole or not at all;
/// one that shows private values is its owner's alone (mode 0600), whatever the umask.
/// Fails (kind usage) without runs, (kind runtime) when the file cannot be written.
[[nodiscard]] result<void> write_report(std::span<const run_record> runs, const std::filesystem::path& html);

/// Writes a page with one table. Cells are plain text; the first of a row heads it, the others are figures.
/// Fails (kind runtime) when the file cannot be written.
[[nodiscard]] result<void> write_table(const std::string& title, const std::string& text,
                                       const std::vector<std::string>& heads,
                                       const std::vector<std::vector<std::string>>& rows,
                                       const std::filesystem::path& html);

/// The content of that file. `runs` must not be empty.
[[nodiscard]] std::string report_html(std::span<const run_record> runs);

}  // namespace furlong::tools
