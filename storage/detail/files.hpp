// Files as a store needs them: whole, durable, and locked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "base/result.hpp"

namespace furlong::storage::detail {

/// The whole content of a file. Fails when it is missing or cannot be read.
[[nodiscard]] result<std::string> read_file(const std::filesystem::path& file);
/// Replaces `file` by `content` so that a crash leaves the old content or the new one, never a mixture, and returns
/// when the new one is durable: temporary file, fsync, rename, fsync of the folder.
[[nodiscard]] result<void> replace_file(const std::filesystem::path& file, std::span<const std::byte> content);
/// Renames a file or folder; durable on return.
[[nodiscard]] result<void> rename_path(const std::filesystem::path& from, const std::filesystem::path& to);
/// Creates a file that only its owner may read and write, whole or not at all, durable on return. Fails when it exists.
[[nodiscard]] result<void> create_private_file(const std::filesystem::path& file, std::span<const std::byte> content);
/// Whether something has this path; so it has when that cannot be told, and who opens it learns why.
[[nodiscard]] bool is_there(const std::filesystem::path& path);
/// The paths of all entries of a folder, in no order.
[[nodiscard]] result<std::vector<std::filesystem::path>> files_in(const std::filesystem::path& folder);
/// Makes the content of a file, or the entries of a folder, durable.
[[nodiscard]] result<void> sync_path(const std::filesystem::path& path);
/// Makes every regular file in a folder durable, then the folder.
[[nodiscard]] result<void> sync_folder(const std::filesystem::path& folder);
/// When the name of a new folder is durable: on return, or once the folder above it is synced.
enum class durability : std::uint8_t { at_once, later };
/// Creates a folder and what is missing above it. Fine when it exists.
[[nodiscard]] result<void> make_folder(const std::filesystem::path& folder, durability how);
/// Deletes a folder and all in it. Fine when it does not exist.
[[nodiscard]] result<void> remove_folder(const std::filesystem::path& folder);

/// Holds the lock of a folder (an flock on its file LOCK) until destroyed. The system drops it with the process.
class folder_lock {
 public:
  folder_lock() = default;
  folder_lock(folder_lock&& other) noexcept : file_(other.file_) { other.file_ = -1; }
  folder_lock& operator=(folder_lock&& other) noexcept {
    std::swap(file_, other.file_);
    return *this;
  }
  ~folder_lock();

  /// Fails at once when another holder is in the way: one that writes shares with nobody, readers share.
  [[nodiscard]] static result<folder_lock> take(const std::filesystem::path& folder, bool shared);

 private:
  explicit folder_lock(int file) : file_(file) {}
  int file_ = -1;
};

}  // namespace furlong::storage::detail
