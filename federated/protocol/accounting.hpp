// What became of every client that was selected, and what it cost.
#pragma once

#include <array>
#include <cstdint>

#include "federated/update.hpp"

namespace furlong::federated::protocol {

/// Counters of a run, monotonic. selected = folded + sum(rejected) at the end of every round.
struct accounting {
  std::uint64_t selected = 0;
  std::uint64_t folded = 0;
  std::array<std::uint64_t, rejection_count> rejected{};  ///< by rejection
  std::uint64_t clients_trained = 0;
  std::uint64_t examples = 0;    ///< processed in all phases of training
  std::uint64_t bytes_up = 0;    ///< encoded size of all updates
  std::uint64_t bytes_down = 0;  ///< encoded size of all tasks and broadcasts

  friend bool operator==(const accounting&, const accounting&) = default;
};

}  // namespace furlong::federated::protocol
