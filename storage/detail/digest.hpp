// HMAC-SHA256, by OpenSSL.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/digest.hpp"
#include "storage/detail/keys.hpp"

namespace furlong::storage::detail {

/// HMAC-SHA256 of `bytes`. Thread-safe. Throws std::bad_alloc when OpenSSL has no memory left.
[[nodiscard]] digest hmac_sha256(const secret_bytes& key, std::span<const std::byte> bytes);
/// The first 8 bytes of a digest as a little-endian number.
[[nodiscard]] std::uint64_t short_form(const digest& of);

}  // namespace furlong::storage::detail
