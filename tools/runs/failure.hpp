// Failure handling of the command: reported errors, and exhausted resources, which end the process at once.
//
// Exit codes of the command, as documented.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace furlong::tools {

enum exit_code : int {
  done = 0,
  expectation_failed = 1,
  usage = 2,        ///< wrong command line, invalid scenario
  data = 3,         ///< data missing or unreadable
  failure = 4,      ///< any other failure during a run
  interrupted = 5,  ///< stopped, resumable
};

[[nodiscard]] inline exit_code exit_code_of(const error& why) {
  switch (why.what) {
    case error::kind::usage: return usage;
    case error::kind::data: return data;
    case error::kind::model:
    case error::kind::runtime: break;
  }
  return failure;
}

/// From now on the process ends with exit code 4, and a message on stderr and in the log that names the resource and
/// its limit, if memory is exhausted, no thread can be started, a library aborts because no file can be opened, or an
/// exception other than std::logic_error is not caught. The stack is not unwound: RocksDB and CAF hold locks while they
/// allocate and start threads, and their destructors would wait for these forever. Files are consistent at any moment.
/// A file that would exceed its size limit gives an error instead of a signal.
void end_when_exhausted();

/// Messages of such an exit are also written to this file.
void log_failures_to(const std::filesystem::path& log);

/// The largest memory user, for the message about exhausted memory: "the model has 12 parameters; make it smaller".
void explain_memory(const std::string& text);

/// Conditions under which every command fails: a FURLONG_KERNEL_LEVEL that is unknown or not supported by this
/// processor (kind usage), and a clock before 1970, which RocksDB does not support (kind runtime). The libraries would
/// throw or abort in a thread.
[[nodiscard]] result<void> check_environment(std::time_t now);

/// Prints an error with the resource limit that caused it, if any, to stderr, and returns its exit code.
int report_failure(const error& why);

/// The limit that caused the error of a system call, as a suffix: "; the limit on open files (ulimit -n) is 20: raise
/// it". Empty without one.
[[nodiscard]] std::string limit_behind(const std::string& message);

}  // namespace furlong::tools
