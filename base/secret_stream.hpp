// Random words for noise that nobody may foresee: a cipher under a key that the operating system draws.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>

#include "base/random.hpp"

namespace furlong {

/// Uniform 64-bit words, one after the other.
class word_source {
 public:
  virtual ~word_source() = default;
  virtual void fill(std::span<std::uint64_t> words) = 0;
};

/// Of a keyed stream that anybody with the seed can repeat. Not thread-safe.
class seeded_words final : public word_source {
 public:
  explicit seeded_words(random_stream stream) : stream_(stream) {}
  void fill(std::span<std::uint64_t> words) override;

 private:
  random_stream stream_;
};

/// 256 bits. Is never written anywhere.
using secret_key = std::array<std::uint8_t, 32>;
/// Of OpenSSL's generator for secrets, which the operating system seeds. Thread-safe. Throws std::runtime_error if
/// there is no randomness.
[[nodiscard]] secret_key draw_secret_key();

/// The keystream of AES-256 in counter mode (FIPS 197, SP 800-38A) by OpenSSL. Streams of one key that differ in an
/// argument are independent; each has 64 GiB. Not thread-safe. Throws std::runtime_error if OpenSSL fails,
/// std::length_error at its end.
class secret_stream final : public word_source {
 public:
  /// part < 2^24
  secret_stream(const secret_key& key, purpose why, std::uint64_t index = 0, std::uint32_t part = 0);
  ~secret_stream() override;
  secret_stream(const secret_stream&) = delete;
  secret_stream& operator=(const secret_stream&) = delete;

  void fill(std::span<std::uint64_t> words) override;
  [[nodiscard]] std::uint64_t next();

 private:
  struct cipher;
  std::unique_ptr<cipher> cipher_;
};

}  // namespace furlong
