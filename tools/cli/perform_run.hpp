// The course of `furlong run`.
#pragma once

#include <optional>

#include "tools/cli/command_options.hpp"
#include "tools/runs/prepared_run.hpp"
#include "tools/runs/run_directory.hpp"

namespace furlong::tools {

/// Performs a prepared run in `folder` and returns the exit code. `options`: resume, engine, threads, log_level.
/// @param closing format of the table printed at the end; nothing: none is printed
int perform_run(const prepared_run& run, run_directory& folder, const run_options& options,
                std::optional<output_format> closing);

}  // namespace furlong::tools
