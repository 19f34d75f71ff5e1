// Which of a client's two stored values counts, and which one the next commit may overwrite.
//
// A client has two slots. One holds the newest value that the last durable checkpoint covers, the other what came
// after it. Values are not moved between slots: a commit overwrites the slot that is not needed any more.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "federated/private_store.hpp"

namespace furlong::storage::detail {

/// What a stored value is known by.
struct slot_tag {
  bool present = false;
  std::uint32_t life = 0;
  std::uint64_t version = 0;   ///< server version at which the value was committed
  std::uint64_t sequence = 0;  ///< counts the client's commits
};
using slot_pair = std::array<slot_tag, 2>;

/// The lives of a store. It counts them itself: a run that crashes twice before its next checkpoint resumes twice with
/// the same history, and what the first of these lives wrote must not pass for work of the second.
class lives {
 public:
  lives() = default;
  /// `resumed_at`: version that life 1, 2, ... of the store began from. `told`: the run's history as last told.
  lives(std::vector<std::uint64_t> resumed_at, std::vector<std::uint64_t> told);

  /// Begins another life: the run goes on from the checkpoint at the end of `history`, or from nothing.
  void begin(const federated::run_history& history);
  /// The process was restarted, and the run went on without it: a life begins only if there is one that `history` has
  /// and this store was not told of.
  void go_on(const federated::run_history& history) {
    if (history.resumed_at != told_) begin(history);
  }
  [[nodiscard]] std::uint32_t life() const { return static_cast<std::uint32_t>(resumed_at_.size()); }
  /// Whether work of `in_life` at `version` is part of what the present life builds on.
  [[nodiscard]] bool contains(std::uint32_t in_life, std::uint64_t version) const { return version < bound(in_life); }
  /// The lowest version that a life after `in_life` began from: its work at this version and above does not count.
  [[nodiscard]] std::uint64_t bound(std::uint32_t in_life) const {
    return in_life >= lowest_.size() ? std::numeric_limits<std::uint64_t>::max() : lowest_[in_life];
  }
  /// Version of the checkpoint that the present life began from.
  [[nodiscard]] std::uint64_t resumed_at() const { return resumed_at_.empty() ? 0 : resumed_at_.back(); }

  [[nodiscard]] const std::vector<std::uint64_t>& all() const { return resumed_at_; }
  [[nodiscard]] const std::vector<std::uint64_t>& told() const { return told_; }

 private:
  void index();

  std::vector<std::uint64_t> resumed_at_;
  std::vector<std::uint64_t> told_;
  std::vector<std::uint64_t> lowest_;  // by life: the lowest version that a later life began from
};

/// The slot that load() returns: the newest that is part of the history. None: the client has no value.
[[nodiscard]] std::optional<std::size_t> current_slot(const slot_pair& slots, const lives& history);
/// The slot that the next commit overwrites, given that a checkpoint of version `covered` is durable.
[[nodiscard]] std::size_t slot_to_write(const slot_pair& slots, const lives& history, std::uint64_t covered);
/// The sequence number of the next commit.
[[nodiscard]] inline std::uint64_t next_sequence(const slot_pair& slots) {
  return std::max(slots[0].sequence, slots[1].sequence) + 1;
}

}  // namespace furlong::storage::detail
