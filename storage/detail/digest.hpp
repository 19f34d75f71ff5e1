// SHA-256, by OpenSSL.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace furlong::storage::detail {

using sha256_bytes = std::array<std::byte, 32>;

/// SHA-256 of `bytes`. Thread-safe. Throws std::bad_alloc when OpenSSL has no memory left.
[[nodiscard]] sha256_bytes sha256(std::span<const std::byte> bytes);
[[nodiscard]] sha256_bytes sha256(std::string_view text);
/// The first 8 bytes of a digest as a little-endian number.
[[nodiscard]] std::uint64_t short_form(const sha256_bytes& digest);

}  // namespace furlong::storage::detail
