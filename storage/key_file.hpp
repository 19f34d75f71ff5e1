// Key files of encrypted private stores: 32 random bytes as 64 hexadecimal digits and a newline, for their owner's eyes
// only. Who loses the key has lost the values.
#pragma once

#include <filesystem>

#include "base/result.hpp"

namespace furlong::storage {

/// Writes a new random key, durable on return, readable and writable by its owner only. Fails when the file exists.
[[nodiscard]] result<void> create_key_file(const std::filesystem::path& file);

// Files with keys: who else could read them, or put another one in their place.

/// Refuses a key file that is no regular file (a symbolic link is none), that belongs to another user than this process
/// and root, that others may use, or whose folder lets everybody replace it: one with the sticky bit does not.
/// Fails with kind data; the error names the remedy.
[[nodiscard]] result<void> check_secret_file(const std::filesystem::path& file);

}  // namespace furlong::storage
