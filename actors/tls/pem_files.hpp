// Certificates and keys, read from PEM files.
#pragma once

#include <filesystem>
#include <vector>

#include "actors/tls/handles.hpp"
#include "base/result.hpp"

namespace furlong::actors::tls {

/// The content of a regular file of at most `most` bytes. Errors (kind data) name the file.
[[nodiscard]] result<std::string> read_text_file(const std::filesystem::path& file, std::size_t most);

/// All certificates of a file, one at least. Fails when it cannot be read, when one is damaged or cut off, and when
/// there is anything else in it, such as a key.
[[nodiscard]] result<std::vector<x509_ptr>> read_certificates(const std::filesystem::path& file);

/// The private key of a file. Fails when others than its owner may use the file, when the key is damaged, when its
/// private and public half do not belong together, and when it is encrypted: nobody is there to type a passphrase.
[[nodiscard]] result<key_ptr> read_private_key(const std::filesystem::path& file);

}  // namespace furlong::actors::tls
