// Shamir's secret sharing of 32-byte secrets (Shamir 1979) over the prime field of 2^61 - 1.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "base/crypto.hpp"

namespace furlong::federated::privacy {

/// A point of five polynomials, one for every seven bytes of the secret. The place where they were evaluated is the
/// number of the holder plus 1. Values are below 2^61 - 1.
using secret_share = std::array<std::uint64_t, 5>;

/// One share for each holder: `threshold` of them determine the secret, fewer are independent of it. Holders are
/// distinct; 1 <= threshold <= holders.
[[nodiscard]] std::vector<secret_share> split_secret(const crypto::key& secret, std::span<const std::uint32_t> holders,
                                                     std::size_t threshold, const crypto::random_source& random);
/// The secret whose polynomials have fewer coefficients than there are shares. Nothing if the shares are not those of
/// any 32 bytes, or two have one holder. False shares can give a false secret.
[[nodiscard]] std::optional<crypto::key> combine_shares(std::span<const std::uint32_t> holders,
                                                        std::span<const secret_share> shares);

}  // namespace furlong::federated::privacy
