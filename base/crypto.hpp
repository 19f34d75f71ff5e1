// Cryptographic primitives, all of OpenSSL: key agreement, key derivation, authenticated encryption, and a stream of
// pseudorandom words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace furlong::crypto {

using bytes = std::vector<std::uint8_t>;
using bytes_view = std::span<const std::uint8_t>;

/// 32 bytes: a secret or public X25519 key, or a symmetric key.
using key = std::array<std::uint8_t, 32>;

/// Fills the span with random bytes. Secrets need an unpredictable source.
using random_source = std::function<void(std::span<std::uint8_t>)>;
/// The operating system's generator. Thread-safe. Throws std::runtime_error if it has no random numbers.
[[nodiscard]] random_source system_random();
/// 32 bytes of a source.
[[nodiscard]] key random_key(const random_source& source);

/// A secret X25519 key (RFC 7748), prepared for many agreements. Movable; thread-safe.
class agreement_key {
 public:
  explicit agreement_key(const key& secret);
  [[nodiscard]] const key& secret() const { return secret_; }
  [[nodiscard]] const key& public_key() const { return public_; }
  /// The shared secret with the holder of another key; nothing if that is a point of low order (RFC 7748, section 6.1).
  [[nodiscard]] std::optional<key> agree(const key& peer_key) const;

 private:
  struct discard {
    void operator()(void* handle) const;
  };
  key secret_;
  key public_{};
  std::unique_ptr<void, discard> handle_;
};

/// HKDF-SHA256 (RFC 5869), at most 8,160 bytes.
void hkdf_sha256(bytes_view secret, bytes_view salt, bytes_view info, std::span<std::uint8_t> out);

constexpr std::size_t tag_bytes = 16;
using nonce = std::array<std::uint8_t, 12>;
/// ChaCha20-Poly1305 (RFC 8439, section 2.8): the ciphertext, followed by the tag. A key encrypts one message per
/// nonce.
[[nodiscard]] bytes seal(const key& with, const nonce& once, bytes_view associated, bytes_view plain);
/// The plaintext; nothing if the message or the associated data are not what was sealed.
[[nodiscard]] std::optional<bytes> open(const key& with, const nonce& once, bytes_view associated, bytes_view sealed);

/// Adds a key's stream to `words`, modulo 2^64, or subtracts it. The stream is AES-128 in counter mode (SP 800-38A,
/// section 6.5), as little-endian words: the first half of the key is the cipher's key, the second half the first
/// counter block. A key agreement on X25519 has 128 bits of security as well.
void add_mask(std::span<std::int64_t> words, const key& secret, bool subtract);
/// The same stream as bytes.
void mask_bytes(std::span<std::uint8_t> out, const key& secret);

/// Overwrites memory that held a secret.
void wipe(std::span<std::uint8_t> secret);

}  // namespace furlong::crypto
