// A file's bytes, read by mapping them.
#pragma once

#include <filesystem>
#include <string_view>

#include "base/result.hpp"

namespace furlong::scenarios {

/// A read-only view of a whole file. Movable, not copyable.
class mapped_file {
 public:
  mapped_file() = default;
  mapped_file(mapped_file&& other) noexcept : bytes_(other.bytes_) { other.bytes_ = {}; }
  mapped_file& operator=(mapped_file&& other) noexcept;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  /// Fails (kind data) when the file is missing, is no regular file or cannot be read.
  [[nodiscard]] static result<mapped_file> open(const std::filesystem::path& path);
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// The same of a text in UTF-8. Fails too where a byte order mark says that it is in UTF-16.
[[nodiscard]] result<mapped_file> open_text(const std::filesystem::path& path);

/// Takes the first line off a text, without its line end ("\n" or "\r\n").
[[nodiscard]] std::string_view next_line(std::string_view& rest);
/// A piece of a file for a message: quoted, tabs as \t, control characters and what is not UTF-8 as ?, cut when long.
[[nodiscard]] std::string shown(std::string_view line);

}  // namespace furlong::scenarios
