// Folders and files with keys in them: whole or not there, durable, and their owner's alone.
#pragma once

#include <filesystem>
#include <string>
#include <utility>

#include "base/result.hpp"

namespace furlong::tools::certs {

/// Who may read a file.
enum class access : unsigned { owner = 0600, all = 0644 };

/// Creates a file, durable on return. Fails when it exists.
[[nodiscard]] result<void> create_file(const std::filesystem::path& file, const std::string& text, access reader);
/// Replaces a file so that a crash leaves the old content or the new one; durable on return.
[[nodiscard]] result<void> replace_file(const std::filesystem::path& file, const std::string& text, access reader);
/// Creates a folder that only its owner may enter.
[[nodiscard]] result<void> create_folder(const std::filesystem::path& folder);

/// A folder that is filled under another name and appears whole, or not at all.
class staged_folder {
 public:
  /// Fails (kind usage) when something stands at `target` that is not an empty folder. Creates what is missing above.
  [[nodiscard]] static result<staged_folder> begin(const std::filesystem::path& target);
  staged_folder(staged_folder&& source) noexcept;
  staged_folder& operator=(staged_folder&&) = delete;
  /// Removes all again, unless it was committed.
  ~staged_folder();

  /// Where to fill it; mode 0700.
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  /// Gives it its name, durably.
  [[nodiscard]] result<void> commit();

 private:
  staged_folder(std::filesystem::path path, std::filesystem::path target)
      : path_(std::move(path)), target_(std::move(target)) {}
  std::filesystem::path path_;  ///< empty: committed, or moved away
  std::filesystem::path target_;
};

/// One process at a time changes a folder: waits for the others. Held until destroyed.
class folder_lock {
 public:
  [[nodiscard]] static result<folder_lock> take(const std::filesystem::path& folder);
  folder_lock(folder_lock&& source) noexcept : descriptor_(std::exchange(source.descriptor_, -1)) {}
  folder_lock& operator=(folder_lock&&) = delete;
  ~folder_lock();

 private:
  explicit folder_lock(int descriptor) : descriptor_(descriptor) {}
  int descriptor_;
};

}  // namespace furlong::tools::certs
