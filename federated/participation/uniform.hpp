// Uniform draws of clients.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/random.hpp"

namespace furlong::federated {

/// `count` of `clients` (all when there are fewer), uniformly without replacement, in the order of `clients`. O(count)
/// time and memory.
[[nodiscard]] std::vector<std::uint32_t> draw_uniformly(std::span<const std::uint32_t> clients, std::uint32_t count,
                                                        random_stream stream);

/// The cohort that the uniform policy chooses in a synchronous round when every client can be asked: keyed by (seed,
/// round).
[[nodiscard]] std::vector<std::uint32_t> uniform_cohort(std::span<const std::uint32_t> clients, std::uint32_t count,
                                                        std::uint64_t seed, std::uint64_t round);

}  // namespace furlong::federated
