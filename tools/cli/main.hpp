// The furlong command as a function, for programs that register models or datasets and provide the command.
#pragma once

namespace furlong::tools {

/// Parses the command line, runs the command, returns its exit code (tools/cli/failure.hpp). Results are written to
/// stdout, progress and logs to stderr. Throws nothing.
int main(int argc, char** argv);

}  // namespace furlong::tools
