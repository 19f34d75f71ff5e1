// Key files of encrypted private stores: 32 random bytes as 64 hexadecimal digits and a newline, accessible to the
// owner only. Without the key the values are lost.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace furlong::storage {

/// Writes a new random key, durable on return, readable and writable by its owner only. Fails if the file exists.
[[nodiscard]] result<void> create_key_file(const std::filesystem::path& file);

// Permission checks of files with keys.

/// Rejects a key file that is not a regular file (symbolic links included), belongs to a user other than root and the
/// one of this process, is accessible to others, or is in a folder in which every user can replace it (world-writable
/// without the sticky bit). Fails with kind data; the error names the fix.
[[nodiscard]] result<void> check_secret_file(const std::filesystem::path& file);

}  // namespace furlong::storage
