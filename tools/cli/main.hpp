// The furlong command as a function, for programs that register models or datasets and provide the command.
#pragma once

#include <functional>

namespace furlong::tools {

/// Parses the command line, runs the command, returns its exit code (tools/runs/failure.hpp). Results are written to
/// stdout, progress and logs to stderr. Throws nothing.
/// @param register_parts called first, to register models, datasets, algorithms, rules and policies: what cannot be
/// registered (std::invalid_argument) is reported as a mistake of usage
int main(int argc, char** argv, const std::function<void()>& register_parts = {});

}  // namespace furlong::tools
