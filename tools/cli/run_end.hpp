// How a run ends: its summary and report, what is said of it, its exit code.
#pragma once

#include "federated/run_observer.hpp"
#include "tools/cli/commands.hpp"
#include "tools/cli/run_directory.hpp"
#include "tools/cli/session.hpp"

namespace furlong::tools {

/// Writes what is to be written of a run that has ended, prints its closing table to stdout, and returns the exit code:
/// of the error, of a run that was interrupted, or that came to nothing.
int end_run(const session& of, const run_directory& folder, const result<federated::run_outcome>& outcome,
            federated::private_store& store, output_format format);

}  // namespace furlong::tools
