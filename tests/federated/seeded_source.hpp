#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "base/crypto.hpp"
#include "base/random.hpp"

namespace furlong::federated::privacy {

/// The same bytes in every run of a test.
inline crypto::random_source seeded(std::uint64_t seed, std::uint32_t client = 0) {
  return [stream = std::make_shared<random_stream>(seed, purpose::test, 0, client)](std::span<std::uint8_t> out) {
    for (auto& byte : out) byte = static_cast<std::uint8_t>((*stream)());
  };
}

}  // namespace furlong::federated::privacy
