// Files that appear whole or not at all and survive a power failure.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <system_error>
#include <tl/expected.hpp>

namespace furlong {

/// The step of writing a file that failed.
enum class file_step : std::uint8_t {
  create,     ///< creates the temporary file, or the name of a file that must be new
  write,      ///< writes content, or sets the mode
  sync,       ///< makes the content durable
  rename,     ///< gives the file its name
  open_path,  ///< opens a file or folder to make it durable
  sync_path   ///< makes a file, or the names in a folder, durable
};

struct file_failure {
  file_step step;
  std::error_code reason;      ///< errno
  std::filesystem::path path;  ///< the file or folder of the failed call: the temporary file, the file or its folder
};

using file_outcome = tl::expected<void, file_failure>;

/// Permissions of a new file.
struct file_mode {
  unsigned bits = 0666;
  bool exact = false;  ///< ignores the umask
};

/// A file that is written under a temporary name beside it. Not thread-safe.
///
/// Readers see the old content or the new one. After a power failure the file has the old content or the new one, and
/// the new one once replace() or create() has returned. The temporary file is removed if neither was successful.
class durable_file {
 public:
  /// Creates the temporary file, named `path` followed by `suffix`. Removes a file or link of that name first, which a
  /// process left that was killed: its owner and mode must not become those of the new file.
  [[nodiscard]] static tl::expected<durable_file, file_failure> begin(std::filesystem::path path, file_mode mode,
                                                                      const std::string& suffix = ".new");
  durable_file(durable_file&& source) noexcept;
  durable_file& operator=(durable_file&&) = delete;
  ~durable_file();

  /// Appends to the content.
  [[nodiscard]] file_outcome write(std::string_view bytes);
  /// Gives the file its name and replaces a file that has it; durable on return. The last call.
  [[nodiscard]] file_outcome replace();
  /// Gives the file its name; durable on return. Fails at step `create` (EEXIST) if a file has that name. The last
  /// call.
  [[nodiscard]] file_outcome create();

 private:
  durable_file(std::filesystem::path path, std::filesystem::path temporary, int descriptor);
  [[nodiscard]] file_outcome flush();
  [[nodiscard]] file_outcome finish();
  [[nodiscard]] file_outcome rename();

  std::filesystem::path path_;
  std::filesystem::path temporary_;  ///< empty: moved away, or renamed
  int descriptor_;                   ///< negative: closed
  std::string buffer_;
};

/// A suffix of temporary files that no other process uses.
[[nodiscard]] std::string process_suffix();
/// Replaces `path` by `content`; durable on return.
[[nodiscard]] file_outcome replace_durably(const std::filesystem::path& path, std::string_view content, file_mode mode);
/// Creates `path` with `content`; durable on return. Fails at step `create` (EEXIST) if it exists.
[[nodiscard]] file_outcome create_durably(const std::filesystem::path& path, std::string_view content, file_mode mode);
/// Renames a file or folder; durable on return.
[[nodiscard]] file_outcome rename_durably(const std::filesystem::path& source, const std::filesystem::path& target);
/// Makes the content of a file, or the names in a folder, durable.
[[nodiscard]] file_outcome make_durable(const std::filesystem::path& path);
/// The folder that a path names an entry of.
[[nodiscard]] std::filesystem::path folder_above(const std::filesystem::path& path);

}  // namespace furlong
