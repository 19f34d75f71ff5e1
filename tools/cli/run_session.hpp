// The course of `furlong run`.
#pragma once

#include <optional>

#include "tools/cli/command_options.hpp"
#include "tools/runs/run_directory.hpp"
#include "tools/runs/session.hpp"

namespace furlong::tools {

/// Runs a session in `folder` and returns the exit code. `options`: resume, engine, threads, log_level.
/// @param closing format of the table printed at the end; nothing: none is printed
int run_session(const session& run, run_directory& folder, const run_options& options,
                std::optional<output_format> closing);

}  // namespace furlong::tools
