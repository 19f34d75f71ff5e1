// What a run prints when it ends.
#pragma once

#include <optional>

#include "base/result.hpp"
#include "federated/rounds/run_observer.hpp"
#include "tools/cli/command_options.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// Writes the outputs of an ended run, summary.json and report.html, prints its closing table to stdout in this format,
/// if any, and returns the exit code: of the error, of an interrupted run, or of a run without a result.
int end_run(const prepared_run& run, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, std::optional<output_format> format);

}  // namespace furlong::tools
