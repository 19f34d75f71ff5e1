// Reads run directories.
#pragma once

#include <filesystem>
#include <span>
#include <vector>

#include "base/result.hpp"
#include "tools/runs/run_record.hpp"

namespace furlong::tools {

/// Reads summary.json, metrics.jsonl, events.jsonl and scenario.toml of a run directory. Files may be missing: without
/// summary.json the run counts as interrupted, and a last line of metrics.jsonl or events.jsonl that was cut off in the
/// middle is left out with a note.
/// Fails (kind data, place "file:line") on any other damage, and where the folder holds nothing of a run.
[[nodiscard]] result<run_record> read_run(const std::filesystem::path& run_directory);

/// Reads runs, and of the folders of sweeps all their runs, each once. A run of a sweep that failed before it wrote
/// anything has the reason as its summary's `failed`; one that has not started is left out. Fails as read_run() does.
[[nodiscard]] result<std::vector<run_record>> read_runs(std::span<const std::filesystem::path> folders);

}  // namespace furlong::tools
