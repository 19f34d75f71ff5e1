#include "federated/privacy/secure_aggregation/shamir.hpp"

#include <algorithm>
#include <cstring>

namespace furlong::federated::privacy {

namespace {

constexpr std::uint64_t prime = (std::uint64_t{1} << 61U) - 1;
constexpr std::size_t chunk_bytes = 7;  // below the prime
__extension__ using wide = unsigned __int128;

std::uint64_t reduce(std::uint64_t value) {
  value = (value & prime) + (value >> 61U);
  return value >= prime ? value - prime : value;
}
std::uint64_t plus(std::uint64_t a, std::uint64_t b) { return reduce(a + b); }
std::uint64_t minus(std::uint64_t a, std::uint64_t b) { return reduce(a + prime - b); }
std::uint64_t times(std::uint64_t a, std::uint64_t b) {
  const wide product = static_cast<wide>(a) * b;
  return reduce((static_cast<std::uint64_t>(product) & prime) + static_cast<std::uint64_t>(product >> 61U));
}
/// Fermat: a^(prime - 2).
std::uint64_t inverse(std::uint64_t a) {
  std::uint64_t made = 1;
  for (auto exponent = prime - 2; exponent > 0; exponent >>= 1U, a = times(a, a))
    if ((exponent & 1U) != 0) made = times(made, a);
  return made;
}

std::uint64_t place_of(std::uint32_t holder) { return std::uint64_t{holder} + 1; }

std::span<std::uint8_t> bytes_of(std::span<std::uint64_t> words) {
  return {reinterpret_cast<std::uint8_t*>(words.data()), words.size_bytes()};
}

/// Uniform below the prime.
void draw_elements(std::span<std::uint64_t> to, const crypto::random_source& random) {
  random(bytes_of(to));
  for (auto& value : to)
    while ((value &= prime) == prime) random(bytes_of({&value, 1}));
}

}  // namespace

std::vector<secret_share> split_secret(const crypto::key& secret, std::span<const std::uint32_t> holders,
                                       std::size_t threshold, const crypto::random_source& random) {
  std::vector<secret_share> shares(holders.size(), secret_share{});
  std::vector<std::uint64_t> coefficients(threshold);
  for (std::size_t c = 0; c < secret_share{}.size(); ++c) {
    const auto begin = c * chunk_bytes;
    coefficients[0] = 0;
    std::memcpy(coefficients.data(), secret.data() + begin, std::min(chunk_bytes, secret.size() - begin));
    draw_elements(std::span(coefficients).subspan(1), random);
    for (std::size_t h = 0; h < holders.size(); ++h) {
      std::uint64_t value = 0;  // Horner
      for (std::size_t i = threshold; i-- > 0;) value = plus(times(value, place_of(holders[h])), coefficients[i]);
      shares[h][c] = value;
    }
  }
  crypto::wipe(bytes_of(coefficients));
  return shares;
}

std::optional<crypto::key> combine_shares(std::span<const std::uint32_t> holders,
                                          std::span<const secret_share> shares) {
  if (holders.empty() || holders.size() != shares.size()) return std::nullopt;
  secret_share secret{};
  for (std::size_t i = 0; i < holders.size(); ++i) {
    std::uint64_t above = 1;  // Lagrange's polynomial of i at 0
    std::uint64_t below = 1;
    for (std::size_t j = 0; j < holders.size(); ++j) {
      if (j == i) continue;
      above = times(above, place_of(holders[j]));
      below = times(below, minus(place_of(holders[j]), place_of(holders[i])));
    }
    if (below == 0) return std::nullopt;
    const auto factor = times(above, inverse(below));
    for (std::size_t c = 0; c < secret.size(); ++c) {
      if (shares[i][c] >= prime) return std::nullopt;
      secret[c] = plus(secret[c], times(factor, shares[i][c]));
    }
  }
  crypto::key made;
  for (std::size_t c = 0; c < secret.size(); ++c) {
    const auto begin = c * chunk_bytes;
    const auto size = std::min(chunk_bytes, made.size() - begin);
    if ((secret[c] >> (8 * size)) != 0) return std::nullopt;
    std::memcpy(made.data() + begin, &secret[c], size);
  }
  return made;
}

}  // namespace furlong::federated::privacy
