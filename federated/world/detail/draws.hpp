// What the models of availability share: uniform draws by key, and a client's own rate.
#pragma once

#include <cstdint>

#include "base/exact_math.hpp"
#include "base/random.hpp"
#include "federated/world/availability.hpp"

namespace furlong::federated::detail {

/// Uniform in [0, 1), 53 bits of resolution.
[[nodiscard]] inline double uniform(random_stream& stream) {
  const std::uint64_t high = stream() >> 5;
  const std::uint64_t low = stream() >> 6;
  return static_cast<double>(high << 26 | low) * 0x1p-53;
}

/// The stream of one client's availability at place `index` among those of its `kind` (below 64). Places 2^50 apart
/// share a stream; nothing looks at two so far apart.
[[nodiscard]] inline random_stream availability_stream(std::uint64_t seed, std::uint32_t client, std::uint32_t kind,
                                                       std::uint64_t index) {
  return {seed, purpose::availability, static_cast<std::uint32_t>(index), client,
          kind | static_cast<std::uint32_t>(index >> 32) << 6};
}

/// The rate of a client whose score moves it away from that of the settings.
[[nodiscard]] inline double client_rate(double rate, const availability_score& score, std::uint32_t client) {
  if (!score || rate <= 0.0 || rate >= 1.0) return rate;
  return 1.0 / (1.0 + (1.0 - rate) / rate * exact::exp(-score(client)));
}

/// How far availability::changes() looks ahead: a hundred years, far beyond any run.
constexpr virtual_time horizon = 36'525LL * 86'400LL * microseconds_per_second;

}  // namespace furlong::federated::detail
