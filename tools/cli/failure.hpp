// How the command fails: errors that are reported, and exhausted resources, which end the process at once.
//
// Exit codes of the command, as documented.
#pragma once

#include <ctime>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::tools {

enum exit_code : int {
  done = 0,
  expectation_failed = 1,
  usage = 2,        ///< wrong command line, invalid scenario
  data = 3,         ///< data missing or unreadable
  failure = 4,      ///< anything else that went wrong while running
  interrupted = 5,  ///< stopped, resumable
};

[[nodiscard]] inline exit_code exit_code_of(const error& why) {
  switch (why.what) {
    case error::kind::usage: return usage;
    case error::kind::data: return data;
    case error::kind::runtime: break;
  }
  return failure;
}

/// How the reason of a run that diverged begins in summary.json, "failed".
inline constexpr std::string_view divergence_text = "training diverged";
/// The word for a run with this reason: "diverged" or "failed".
[[nodiscard]] constexpr std::string_view failure_word(std::string_view reason) {
  return reason.starts_with(divergence_text) ? "diverged" : "failed";
}

/// From now on the process ends with exit code 4, and a message on stderr and in the log that names the resource and
/// its limit, when there is no memory, when no thread can be started, when a library aborts since no file can be
/// opened, and when nobody catches an exception that is no std::logic_error. Nothing is unwound: RocksDB and CAF hold
/// locks where they allocate and start threads, and what runs in their destructors would wait for these for ever. What
/// is on disk is consistent at any moment. A file that would grow beyond its limit gives an error in place of a signal.
void end_when_exhausted();

/// Messages of such an end go to this file too.
void log_failures_to(const std::filesystem::path& log);

/// What needs much memory, for the message when there is none: "the model has 12 parameters; make it smaller".
void explain_memory(const std::string& text);

/// What makes every command fail: a FURLONG_KERNEL_LEVEL that is none or that this processor lacks (kind usage), and a
/// clock before 1970, which RocksDB does not bear (kind runtime). The libraries would throw or abort in a thread.
[[nodiscard]] result<void> check_environment(std::time_t now);

/// Prints an error to stderr, with the resource limit that it is due to, and returns its exit code.
int report_failure(const error& why);

/// The limit that a message about a system call is due to, as what follows it: "; the limit on open files (ulimit -n)
/// is 20: raise it". Empty where there is none.
[[nodiscard]] std::string limit_behind(const std::string& message);

}  // namespace furlong::tools
