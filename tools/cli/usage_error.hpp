// Errors of the command line: the library's own texts name neither the place nor the fix.
#pragma once

#include <CLI/CLI.hpp>
#include <vector>

#include "base/result.hpp"

namespace furlong::tools {

/// What is wrong with the command line that `app` has read: each unknown option or command, with the nearest name, or
/// the error that the library found. At least one, each of kind usage.
[[nodiscard]] std::vector<error> usage_errors(const CLI::App& app, const CLI::ParseError& why);

}  // namespace furlong::tools
