// SHA-256 digests.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace furlong {

/// A SHA-256 digest (FIPS 180-4), first byte first.
using digest = std::array<std::uint8_t, 32>;

/// A digest over bytes that are added in pieces of any size. Not thread-safe. After finish() it is empty and can be
/// used for the next digest.
class sha256_stream {
 public:
  sha256_stream();

  sha256_stream& add(std::span<const std::byte> bytes);
  sha256_stream& add(std::string_view text);
  /// Each value as four little-endian bytes of IEEE 754 binary32.
  sha256_stream& add(std::span<const float> values);
  /// Eight little-endian bytes.
  sha256_stream& add(std::uint64_t number);
  [[nodiscard]] digest finish();

 private:
  struct state;
  struct discard {
    void operator()(state* gone) const;
  };
  std::unique_ptr<state, discard> state_;
};

/// Thread-safe.
[[nodiscard]] digest sha256(std::span<const std::byte> bytes);
[[nodiscard]] digest sha256(std::string_view text);
/// Lower case, two digits a byte.
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);

}  // namespace furlong
