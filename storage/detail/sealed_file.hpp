// Files that are written and read as a whole, under one checksum.
//
//   8 bytes   magic: what kind of file it is
//   8 bytes   length of the payload, little-endian
//   payload   a Cap'n Proto message
//   32 bytes  SHA-256 of all before
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"

namespace furlong::storage::detail {

/// Makes the bytes of a sealed file. `magic` has 8 characters.
[[nodiscard]] std::string seal(std::string_view magic, std::string_view payload);
/// The payload of a sealed file's `bytes`. Every truncation and every changed bit is an error that names `file` and its
/// kind `title` ("checkpoint").
[[nodiscard]] result<std::string_view> unseal(std::string_view magic, std::string_view bytes,
                                              const std::filesystem::path& file, const std::string& title);

}  // namespace furlong::storage::detail
