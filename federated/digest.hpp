// SHA-256 digests: what identifies a layout on the wire and on disk, and what a run's results are compared by.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "models/layout.hpp"
#include "models/parameters.hpp"

namespace furlong::federated {

/// A SHA-256 digest (FIPS 180-4), first byte first.
using digest = std::array<std::uint8_t, 32>;

/// A digest over bytes that arrive in pieces; how they are cut into pieces does not matter.
/// Not thread-safe. After finish() it is empty again and can be used for the next digest.
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

[[nodiscard]] digest sha256(std::span<const std::byte> bytes);
/// Lower case, two digits a byte.
[[nodiscard]] std::string hex(std::span<const std::uint8_t> bytes);
/// Identifies a layout: the digest of its signature(), so of names, shapes and order.
[[nodiscard]] digest layout_digest(const models::layout& shape);
/// `model_sha256` of summary.json: the layout's signature, then all values as little-endian float32.
[[nodiscard]] digest model_sha256(const models::shared_parameters& model);

}  // namespace furlong::federated
