// File operations of a store: atomic, durable, locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::storage::detail {

/// The whole content of a file. Fails if it is missing or unreadable.
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& file);
/// Replaces `file` by `content` atomically; the new content is durable on return: temporary file, fsync, rename, fsync
/// of the folder.
[[nodiscard]] result<void> replace_file(const std::filesystem::path& file, std::span<const std::byte> content);
/// Renames a file or folder; durable on return.
[[nodiscard]] result<void> rename_path(const std::filesystem::path& source, const std::filesystem::path& target);
/// Creates a file that only its owner can read and write, atomically; durable on return. Fails if it exists.
[[nodiscard]] result<void> create_private_file(const std::filesystem::path& file, std::span<const std::byte> content);
/// True if the path exists, or if this cannot be determined: opening it then reports the reason.
[[nodiscard]] bool is_there(const std::filesystem::path& path);
/// The paths of all entries of a folder, unordered.
[[nodiscard]] result<std::vector<std::filesystem::path>> files_in(const std::filesystem::path& folder);
/// Makes the content of a file, or the entries of a folder, durable.
[[nodiscard]] result<void> sync_path(const std::filesystem::path& path);
/// Makes every regular file in a folder durable, then the folder.
[[nodiscard]] result<void> sync_folder(const std::filesystem::path& folder);
/// When the name of a new folder becomes durable: on return, or once its parent folder is synced.
enum class durability : std::uint8_t { at_once, later };
/// Creates a folder and its missing parents; an existing folder is no error.
[[nodiscard]] result<void> make_folder(const std::filesystem::path& folder, durability moment);
/// Copies the regular files of a folder to a new one; durable on return. Files that are never written again, the tables
/// of RocksDB (.sst), are linked if the file system supports it. Leaves out lock and log files of messages.
[[nodiscard]] result<void> snapshot_folder(const std::filesystem::path& source, const std::filesystem::path& target);
/// Deletes a folder and its content; a missing folder is no error.
[[nodiscard]] result<void> remove_folder(const std::filesystem::path& folder);

/// Holds the lock of a folder (an flock on its file LOCK) until destroyed. The system releases it if the process ends.
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(folder_lock&& source) noexcept : file_(source.file_) { source.file_ = -1; }
  folder_lock& operator=(folder_lock&& source) noexcept {
    std::swap(file_, source.file_);
    return *this;
  }
  ~folder_lock();

  /// Fails at once if another holder conflicts: a writer needs exclusive access, readers share.
  [[nodiscard]] static result<folder_lock> take(const std::filesystem::path& folder, bool shared);

 private:
  explicit folder_lock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace furlong::storage::detail
