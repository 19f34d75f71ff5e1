// Who is asked to train in a round.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace furlong::federated {

/// `count` of `clients`, uniformly without replacement, keyed by (seed, round). Ascending. count <= clients.size().
/// O(count) time and memory (Floyd's algorithm).
[[nodiscard]] std::vector<std::uint32_t> choose_cohort(std::span<const std::uint32_t> clients, std::uint32_t count,
                                                       std::uint64_t seed, std::uint32_t round);

}  // namespace furlong::federated
