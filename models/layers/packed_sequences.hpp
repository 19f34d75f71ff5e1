// Sequences of different lengths, laid out for recurrent layers: all first elements, all second ones, and so on.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace furlong::models {

/// Sequences ordered by length, the longest first (those of equal length as they came), packed by time step. In step t
/// the first active[t] of them have an element, in rows begin[t] to begin[t + 1] - 1 of every packed matrix. There is
/// no padding, so nothing has to be masked.
struct packed_sequences {
  std::vector<std::uint32_t> order;   ///< place in the packing -> sequence
  std::vector<std::uint32_t> active;  ///< per step, never growing
  std::vector<std::uint32_t> begin;   ///< per step, and the number of rows

  [[nodiscard]] std::uint32_t steps() const { return static_cast<std::uint32_t>(active.size()); }
  [[nodiscard]] std::uint32_t rows() const { return begin.empty() ? 0 : begin.back(); }
  /// Rows of the first step: one for each sequence that is not empty.
  [[nodiscard]] std::uint32_t first_rows() const { return active.empty() ? 0 : active.front(); }
  [[nodiscard]] std::uint32_t count() const { return static_cast<std::uint32_t>(order.size()); }
  /// The row of step t of the sequence at that place.
  [[nodiscard]] std::uint32_t row(std::uint32_t place, std::uint32_t step) const { return begin[step] + place; }
};

/// Packs sequences of these lengths; an empty one has a place and no rows. `into` keeps its memory between calls: it
/// allocates only for more sequences or steps than before. Pure; thread-safe on distinct `into`.
void pack(std::span<const std::uint32_t> lengths, packed_sequences& into);

}  // namespace furlong::models
