// Which of the things that a run did still count.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace furlong::federated {

/// The lives of a run: it starts in life 0, and each resume from a checkpoint begins a new life. A value written in an
/// earlier life counts only if no later life began from a checkpoint older than it.
struct run_history {
  std::vector<std::uint64_t> resumed_at;  ///< version of the checkpoint that life 1, 2, ... began from

  [[nodiscard]] std::uint32_t life() const { return static_cast<std::uint32_t>(resumed_at.size()); }
  /// Whether work on top of version `version`, done in `life`, is part of this history. Work trained at version v is
  /// covered by checkpoints of versions above v.
  [[nodiscard]] bool contains(std::uint32_t in_life, std::uint64_t version) const {
    for (std::size_t later = in_life; later < resumed_at.size(); ++later)
      if (version >= resumed_at[later]) return false;
    return true;
  }
  friend bool operator==(const run_history&, const run_history&) = default;
};

}  // namespace furlong::federated
