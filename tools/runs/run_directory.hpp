// The folder of one run.
//
// metrics.jsonl, events.jsonl and cohorts.jsonl grow during a run; a checkpoint records their lengths, and resuming
// truncates them to these. summary.json and report.html are written at the end of a run, and removed if it continues.
#pragma once

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/durable_file.hpp"
#include "base/result.hpp"

namespace furlong::tools {

/// A text file that is appended to. Not thread-safe.
class growing_file {
 public:
  /// Opens for writing at `length`; truncates the rest.
  [[nodiscard]] static result<growing_file> open(const std::filesystem::path& path, std::uint64_t length);
  [[nodiscard]] result<void> append(const std::string& line);
  /// Syncs all lines to disk and returns the file's length.
  [[nodiscard]] result<std::uint64_t> sync();

 private:
  struct closer {
    void operator()(std::FILE* file) const { std::fclose(file); }
  };
  std::filesystem::path path_;
  std::unique_ptr<std::FILE, closer> file_;
  std::uint64_t length_ = 0;
};

/// A file that is written whole or not at all: durable_file, with errors of kind runtime. Not thread-safe.
class atomic_file {
 public:
  [[nodiscard]] static result<atomic_file> begin(const std::filesystem::path& path);
  [[nodiscard]] result<void> append(std::string_view bytes);
  /// Replaces the file; durable on return. The last call; without it, the old file stays.
  [[nodiscard]] result<void> commit();

 private:
  explicit atomic_file(durable_file file) : file_(std::move(file)) {}
  [[nodiscard]] static result<void> as_result(const file_outcome& outcome);
  durable_file file_;
};

class run_directory {
 public:
  explicit run_directory(std::filesystem::path root) : root_(std::move(root)) {}

  /// Creates the folder. Fails (kind usage) if it exists and is not empty.
  /// @param otherwise what the caller's command can do with a folder of its own, after "name another folder with --out"
  [[nodiscard]] result<void> create(const std::string& otherwise = {}) const;
  /// True if the folder does not exist or is empty.
  [[nodiscard]] bool vacant() const;
  /// True if a run was started here: the folder has its scenario, or only the log of a run that was killed before it
  /// wrote its scenario.
  [[nodiscard]] bool is_of_run() const;

  /// Removes the files of an ended run: summary.json and report.html. Fails (kind runtime) if this is impossible.
  [[nodiscard]] result<void> reopen() const;

  /// Locks out other processes until this object is destroyed. Fails (kind usage) if another one has the lock.
  [[nodiscard]] result<void> lock();

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  [[nodiscard]] std::filesystem::path scenario() const { return root_ / "scenario.toml"; }
  [[nodiscard]] std::filesystem::path metrics() const { return root_ / "metrics.jsonl"; }
  [[nodiscard]] std::filesystem::path events() const { return root_ / "events.jsonl"; }
  [[nodiscard]] std::filesystem::path cohorts() const { return root_ / "cohorts.jsonl"; }
  [[nodiscard]] std::filesystem::path summary() const { return root_ / "summary.json"; }
  [[nodiscard]] std::filesystem::path checkpoint() const { return root_ / "checkpoint"; }
  [[nodiscard]] std::filesystem::path private_store() const { return root_ / "private"; }
  /// Kept checkpoints (kept_checkpoints.hpp).
  [[nodiscard]] std::filesystem::path kept() const { return root_ / "kept"; }
  [[nodiscard]] std::filesystem::path log() const { return root_ / "log.txt"; }
  [[nodiscard]] std::filesystem::path report() const { return root_ / "report.html"; }

 private:
  struct unlocker {
    void operator()(const int* descriptor) const;
  };
  std::filesystem::path root_;
  std::unique_ptr<int, unlocker> lock_;
};

/// Writes a file by atomic_file, with a line end after the text.
[[nodiscard]] result<void> write_atomically(const std::filesystem::path& path, const std::string& text);
/// The same for bytes as they are.
[[nodiscard]] result<void> write_bytes_atomically(const std::filesystem::path& path, std::string_view bytes);

}  // namespace furlong::tools
