// Runs of this command as child processes: crashes are isolated, and every run has its own exit code.
//
// Each child leads its own process group, so that a Ctrl-C of the terminal reaches it once, through the parent. SIGINT
// and SIGTERM are forwarded to all children, no further one is started, and the parent waits for those that run. A
// child whose parent dies receives SIGTERM.
#pragma once

#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::tools {

/// One run of this command.
struct child_run {
  std::vector<std::string> arguments;  ///< without the command name
  std::filesystem::path out;           ///< receives its stdout
  std::filesystem::path err;           ///< receives its stderr
};

/// Result of a child: its exit code, or 128 + the signal that ended it.
struct child_end {
  int code = 0;
  double seconds = 0.0;  ///< of wall time
};

/// Runs them in order, at most `at_once` at a time. Calls `ended` with the index of each that has ended. True: all ran;
/// false: interrupted by a signal; `ended` was called only for started runs. Fails (kind runtime) if a process cannot
/// be started. The calling process must not have other threads.
[[nodiscard]] result<bool> run_children(std::span<const child_run> runs, std::size_t at_once,
                                        const std::function<void(std::size_t, const child_end&)>& ended);

/// Waits until no child writes to its `err` file: a child of an earlier process of this command may outlive it (kill
/// -9) until the end of its round. Calls `on_wait` before it waits.
void wait_for_earlier(const std::filesystem::path& err, const std::function<void()>& on_wait);

/// The content of a child's output file; empty if there is none.
[[nodiscard]] std::string text_of(const std::filesystem::path& file);
/// The JSON object in a file; null if there is none.
[[nodiscard]] nlohmann::ordered_json read_object(const std::filesystem::path& file);

/// The number that a user gave; 0: one per core.
[[nodiscard]] std::size_t or_one_per_core(std::size_t given);

}  // namespace furlong::tools
