// Reads a file by mapping it into memory.
#pragma once

#include <charconv>
#include <filesystem>
#include <optional>
#include <string_view>

#include "base/result.hpp"

namespace furlong::scenarios {

/// A read-only view of a whole file. Movable, not copyable.
class mapped_file {
 public:
  mapped_file() = default;
  mapped_file(mapped_file&& source) noexcept : bytes_(source.bytes_) { source.bytes_ = {}; }
  mapped_file& operator=(mapped_file&& source) noexcept;
  mapped_file(const mapped_file&) = delete;
  mapped_file& operator=(const mapped_file&) = delete;
  ~mapped_file();

  /// Fails (kind data) if the file is missing, not a regular file, or unreadable.
  [[nodiscard]] static result<mapped_file> open(const std::filesystem::path& path);
  [[nodiscard]] std::string_view bytes() const { return bytes_; }

 private:
  std::string_view bytes_;
};

/// The same for UTF-8 text. Fails also if a byte order mark indicates UTF-16.
[[nodiscard]] result<mapped_file> open_text(const std::filesystem::path& path);

/// Consumes the first line of a text, without its line end ("\n" or "\r\n").
[[nodiscard]] std::string_view next_line(std::string_view& rest);
/// The number that a whole text is; nothing if it is none.
template <class Number>
[[nodiscard]] std::optional<Number> parse_number(std::string_view text) {
  Number number{};
  const auto [end, why] = std::from_chars(text.data(), text.data() + text.size(), number);
  return why == std::errc() && end == text.data() + text.size() ? std::optional(number) : std::nullopt;
}
/// A piece of a file for a message: quoted, tabs as \t, control characters and invalid UTF-8 as ?, cut if long.
[[nodiscard]] std::string shown(std::string_view line);

}  // namespace furlong::scenarios
