// What identifies the running program.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace furlong {

/// "program-" and the first 16 digits of the SHA-256 of its executable file; "program-unknown" if that cannot be read.
/// Thread-safe.
[[nodiscard]] const std::string& program_version();

/// True for a version that a registered part can have: 1 to 64 printable characters of ASCII without blanks.
[[nodiscard]] inline bool is_version(std::string_view text) {
  return !text.empty() && text.size() <= 64 && std::ranges::all_of(text, [](char c) { return c > ' ' && c < '\x7f'; });
}

}  // namespace furlong
