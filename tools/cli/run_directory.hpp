// The folder of one run: what is written there, and how a run goes on from it.
//
// metrics.jsonl and events.jsonl grow while the run goes on; a checkpoint records their lengths, and resuming cuts them
// back to these. summary.json and report.html appear when the run has ended, and go when it is to have more rounds.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>

#include "base/result.hpp"

namespace furlong::tools {

/// A text file that is appended to. Not thread-safe.
class growing_file {
 public:
  /// Opens for writing from `length` on; what stood behind is cut off.
  [[nodiscard]] static result<growing_file> open(const std::filesystem::path& path, std::uint64_t length);
  [[nodiscard]] result<void> append(const std::string& line);
  /// Hands all lines to the disk and returns the file's length.
  [[nodiscard]] result<std::uint64_t> sync();

 private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, closer> file_;
  std::uint64_t length_ = 0;
};

class run_directory {
 public:
  explicit run_directory(std::filesystem::path root) : root_(std::move(root)) {}

  /// Makes the folder. Fails (kind usage) when it is there and not empty.
  [[nodiscard]] result<void> create() const;
  /// True when nothing is there, or an empty folder.
  [[nodiscard]] bool vacant() const;
  /// True when a run was begun here: there is its scenario, or nothing but the log of one that was killed before it had
  /// written it.
  [[nodiscard]] bool is_of_run() const;

  /// Removes what only a run that has ended has: summary.json and report.html. Fails (kind runtime) when they stay.
  [[nodiscard]] result<void> reopen() const;

  /// Keeps other processes out until this object is gone. Fails (kind usage) when one is at work here.
  [[nodiscard]] result<void> lock();

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path scenario() const { return root_ / "scenario.toml"; }
  [[nodiscard]] std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path events() const { return root_ / "events.jsonl"; }
  [[nodiscard]] std::filesystem::path summary() const { return root_ / "summary.json"; }
  [[nodiscard]] std::filesystem::path checkpoint() const { return root_ / "checkpoint"; }
  [[nodiscard]] std::filesystem::path private_store() const { return root_ / "private"; }
  [[nodiscard]] std::filesystem::path log() const { return root_ / "log.txt"; }
  [[nodiscard]] std::filesystem::path report() const { return root_ / "report.html"; }

 private:
  struct unlocker {
    void operator()(const int* descriptor) const;
  };
  std::filesystem::path root_;
  std::unique_ptr<int, unlocker> lock_;
};

/// Writes a file whole or not at all: to a temporary one beside it, synced, renamed.
[[nodiscard]] result<void> write_atomically(const std::filesystem::path& path, const std::string& text);

}  // namespace furlong::tools
