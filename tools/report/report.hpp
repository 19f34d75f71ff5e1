// Reports of runs: reads run directories, compares them in the terminal, and draws them in one HTML file.
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
#include "tools/report/run_record.hpp"

namespace furlong::tools {

/// Reads summary.json, metrics.jsonl, events.jsonl and scenario.toml of a run directory. Files may be missing: without
/// summary.json the run counts as interrupted, and a last line of metrics.jsonl or events.jsonl that was cut off in the
/// middle is left out with a note.
/// Fails (kind data, place "file:line") on any other damage, and where the folder holds nothing of a run.
[[nodiscard]] result<run_record> read_run(const std::filesystem::path& run_directory);

/// Reads runs, and of the folders of sweeps all their runs, each once. A run of a sweep that failed before it wrote
/// anything has the reason as its summary's `failed`; one that has not started is left out. Fails as read_run() does.
[[nodiscard]] result<std::vector<run_record>> read_runs(std::span<const std::filesystem::path> folders);

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

/// A table for the terminal, one row per configuration (comparison.hpp) with its means and standard deviations, a '*'
/// after the best value of a column, and notes; empty without runs.
[[nodiscard]] std::string comparison_table(std::span<const run_record> runs);

}  // namespace furlong::tools
