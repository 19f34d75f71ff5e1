// Reads certificates and keys from PEM files.
#pragma once

#include <filesystem>
#include <vector>

#include "actors/tls/handles.hpp"
#include "base/result.hpp"

namespace furlong::actors::tls {

/// The content of a regular file of at most `most` bytes. Errors (kind data) name the file.
[[nodiscard]] result<std::string> read_text_file(const std::filesystem::path& file, std::size_t most);

/// All certificates of a file, at least one. Fails if it cannot be read, if one is damaged or truncated, or if it
/// contains anything else, such as a key.
[[nodiscard]] result<std::vector<x509_ptr>> read_certificates(const std::filesystem::path& file);

/// The private key of a file. Fails if the file is accessible to others than its owner, or if the key is damaged, its
/// private and public half do not match, or it is encrypted (processes start unattended).
[[nodiscard]] result<key_ptr> read_private_key(const std::filesystem::path& file);

}  // namespace furlong::actors::tls
