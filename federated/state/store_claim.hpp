// A node's claim about its private store when it joins, and the clients that it is for.
#pragma once

#include <compare>
#include <cstdint>

namespace furlong::federated {

/// Clients first to last, both included.
struct client_range {
  std::uint32_t first = 0;
  std::uint32_t last = 0;

  [[nodiscard]] bool contains(std::uint32_t client) const { return first <= client && client <= last; }
  [[nodiscard]] bool overlaps(const client_range& other) const { return first <= other.last && other.first <= last; }
  friend auto operator<=>(const client_range&, const client_range&) = default;
};

struct store_claim {
  std::uint64_t store = 0;     ///< random id; 0: it has none, or no private values are kept
  std::uint64_t openings = 0;  ///< how often a node has opened it
  std::uint64_t served = 0;    ///< version of the last reported update whose values it has, plus 1; 0: none
  bool accepts_loss = false;   ///< values may be missing: the clients start again
  friend auto operator<=>(const store_claim&, const store_claim&) = default;
};

}  // namespace furlong::federated
