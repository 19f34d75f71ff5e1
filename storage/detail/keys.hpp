// The keys of an encrypted store, derived from its key file.
//
//   HKDF-SHA256(key of the file, salt of the store, purpose) -> 32 bytes for each purpose
//
// The salt is random per store: two stores with the same key file share no derived key.
#pragma once

#include <array>
#include <filesystem>
#include <memory>
#include <openssl/crypto.h>
#include <span>
#include <string>
#include <string_view>

#include "base/digest.hpp"
#include "base/result.hpp"

namespace furlong::storage::detail {

/// 32 bytes, wiped on destruction.
class secret_bytes : public std::array<unsigned char, 32> {
 public:
  secret_bytes() { fill(0); }
  ~secret_bytes() { OPENSSL_cleanse(data(), size()); }
  secret_bytes(const secret_bytes&) = default;
  secret_bytes& operator=(const secret_bytes&) = default;
  [[nodiscard]] std::string_view text() const { return {reinterpret_cast<const char*>(data()), size()}; }
};

struct store_keys {
  secret_bytes cipher;   ///< AES-256-CTR over the files
  secret_bytes heads;    ///< HMAC-SHA256 over the header of each file
  secret_bytes records;  ///< HMAC-SHA256 over each record
  std::string check;     ///< detects a wrong key; reveals nothing about the others
};
using keys_ptr = std::shared_ptr<const store_keys>;

/// 16 random bytes.
[[nodiscard]] result<std::string> random_salt();
/// Reads a key file and derives the store's keys. Fails if it is unreadable, not a key file, or accessible to users
/// other than its owner.
[[nodiscard]] result<keys_ptr> derive_keys(const std::filesystem::path& key_file, std::string_view salt);
/// The keys of an existing store; null if it has no salt: it is not encrypted. Fails (kind usage) unless `key_file`
/// matches the store.
[[nodiscard]] result<keys_ptr> open_keys(const std::filesystem::path& store, std::string_view salt,
                                         std::string_view check, const std::filesystem::path& key_file);

/// HMAC-SHA256 of `bytes`. Thread-safe. Throws std::bad_alloc when OpenSSL has no memory left.
[[nodiscard]] digest hmac_sha256(const secret_bytes& key, std::span<const std::byte> bytes);

}  // namespace furlong::storage::detail
