// The resumes of a run, which decide what work is part of it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace furlong::federated {

/// The incarnations ("lives") of a run: it starts in life 0, and each resume from a checkpoint begins a new one. A
/// value written in an earlier life is valid only if no later life began from a checkpoint older than it.
struct run_history {
  std::vector<std::uint64_t> resumed_at;  ///< version of the checkpoint that life 1, 2, ... began from
  /// Random ids of life 1, 2, ...: they distinguish lives that began from copies of one checkpoint. As many as
  /// `resumed_at`.
  std::vector<std::uint64_t> ids = {};

  [[nodiscard]] std::uint32_t life() const { return static_cast<std::uint32_t>(resumed_at.size()); }
  /// Id of the current life; 0: the first.
  [[nodiscard]] std::uint64_t id() const { return ids.empty() ? 0 : ids.back(); }
  void resume(std::uint64_t version, std::uint64_t id) {
    resumed_at.push_back(version);
    ids.push_back(id);
  }
  /// True if work on version `version` in `in_life` is part of this history. Checkpoints of versions above v cover work
  /// trained at version v.
  [[nodiscard]] bool contains(std::uint32_t in_life, std::uint64_t version) const {
    for (std::size_t later = in_life; later < resumed_at.size(); ++later)
      if (version >= resumed_at[later]) return false;
    return true;
  }
  /// True if the life of this id is in the history; the id of the first is 0.
  [[nodiscard]] bool knows(std::uint64_t id) const { return id == 0 || std::ranges::find(ids, id) != ids.end(); }
  /// True if this history equals or extends `earlier`.
  [[nodiscard]] bool continues(const run_history& earlier) const {
    const auto begins_with = [](const auto& all, const auto& first) {
      return first.size() <= all.size() && std::equal(first.begin(), first.end(), all.begin());
    };
    return begins_with(resumed_at, earlier.resumed_at) && begins_with(ids, earlier.ids);
  }
  friend bool operator==(const run_history&, const run_history&) = default;
};

}  // namespace furlong::federated
