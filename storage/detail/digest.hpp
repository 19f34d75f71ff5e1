// SHA-256, plain and keyed, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "storage/detail/keys.hpp"

namespace furlong::storage::detail {

using sha256_bytes = std::array<std::byte, 32>;

/// SHA-256 of `bytes`. Thread-safe. Throws std::bad_alloc when OpenSSL has no memory left.
[[nodiscard]] sha256_bytes sha256(std::span<const std::byte> bytes);
[[nodiscard]] sha256_bytes sha256(std::string_view text);
/// HMAC-SHA256 of `bytes`. Thread-safe. Throws std::bad_alloc when OpenSSL has no memory left.
[[nodiscard]] sha256_bytes hmac_sha256(const secret_bytes& key, std::span<const std::byte> bytes);
/// The first 8 bytes of a digest as a little-endian number.
[[nodiscard]] std::uint64_t short_form(const sha256_bytes& digest);

}  // namespace furlong::storage::detail
