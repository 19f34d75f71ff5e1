// Other runs of this command as child processes: a crash stays where it is, and every run has its own exit code.
//
// Each child leads a process group of its own, so that a Ctrl-C of the terminal reaches it once, through us. SIGINT and
// SIGTERM are passed on to all children, no further one is started, and those at work are waited for. A child whose
// parent dies is asked to stop (SIGTERM).
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::tools {

/// One run of this command.
struct child_run {
  std::vector<std::string> arguments;  ///< without the command's own name
  std::filesystem::path out;           ///< takes what it prints to stdout
  std::filesystem::path err;           ///< and to stderr
};

/// How it ended: its exit code, or 128 + the signal that ended it.
struct child_end {
  int code = 0;
  double seconds = 0.0;  ///< of wall time
};

/// Runs them in order, at most `at_once` at a time. Calls `ended` with the index of each that has. True: all ran;
/// false: a signal stopped it, and `ended` was called only for those that had begun. Fails (kind runtime) when a
/// process cannot be started. Not to be called from a process with other threads.
[[nodiscard]] result<bool> run_children(std::span<const child_run> runs, std::size_t at_once,
                                        const std::function<void(std::size_t, const child_end&)>& ended);

/// Waits until no child writes to its `err` file: one that an earlier process of this command started may outlive it
/// (kill -9), until the round at which it stops. `told` is called before it has to wait.
void wait_for_earlier(const std::filesystem::path& err, const std::function<void()>& told);

/// What a file of a child's output says; empty when there is none.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);

}  // namespace furlong::tools
