// The furlong command as a function, so that other programs can register models or datasets and be the command.
#pragma once

namespace furlong::tools {

/// Parses the command line, runs the command, returns its exit code (tools/cli/failure.hpp). Results go to stdout,
/// progress and logs to stderr. Throws nothing.
int main(int argc, char** argv);

}  // namespace furlong::tools
