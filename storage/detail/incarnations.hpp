// Selects which of a client's two stored values is current, and which one the next commit overwrites.
//
// A client has two slots: one for the newest value that the last durable checkpoint covers, the other for later values.
// Values are not moved between slots: a commit overwrites the slot that is no longer needed.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "federated/experiment/private_store.hpp"

namespace furlong::storage::detail {

/// Metadata of a stored value.
struct slot_tag {
  bool present = false;
  std::uint32_t life = 0;
  std::uint64_t version = 0;   ///< server version at which the value was committed
  std::uint64_t sequence = 0;  ///< number of the commit among those of the client
};
using slot_pair = std::array<slot_tag, 2>;
/// The first of two slots of a client's pending values, beside those of its committed ones.
constexpr std::size_t pending_slots = 2;
constexpr std::size_t record_slots = 4;
/// A version that is part of no history: of a discarded pending value.
constexpr std::uint64_t no_version = std::numeric_limits<std::uint64_t>::max();

/// The lives of a store: its openings for a run. The store counts them itself: a run that crashes twice before its next
/// checkpoint resumes twice with the same history, and values of the first of these lives must not be mistaken for
/// values of the second.
class incarnations {
 public:
  incarnations() = default;
  /// `resumed_at`: version at which life 1, 2, ... of the store began. `known`: the last run history passed to the
  /// store.
  incarnations(std::vector<std::uint64_t> resumed_at, std::vector<std::uint64_t> known);

  /// Begins a life: the run continues from the checkpoint at the end of `history`, or starts from nothing.
  void begin(const federated::run_history& history);
  /// The process restarted while the run continued: begins a life only if `history` has one that is new to this store.
  void go_on(const federated::run_history& history) {
    if (history.resumed_at != known_) begin(history);
  }
  [[nodiscard]] std::uint32_t life() const { return static_cast<std::uint32_t>(resumed_at_.size()); }
  /// True if values of `in_life` at `version` are part of the current life's history.
  [[nodiscard]] bool contains(std::uint32_t in_life, std::uint64_t version) const { return version < bound(in_life); }
  /// The lowest version at which a life after `in_life` began: values of `in_life` at this version and above are
  /// invalid.
  [[nodiscard]] std::uint64_t bound(std::uint32_t in_life) const {
    return in_life >= lowest_.size() ? std::numeric_limits<std::uint64_t>::max() : lowest_[in_life];
  }
  /// Version of the checkpoint at which the current life began.
  [[nodiscard]] std::uint64_t resumed_at() const { return resumed_at_.empty() ? 0 : resumed_at_.back(); }

  [[nodiscard]] const std::vector<std::uint64_t>& all() const { return resumed_at_; }
  [[nodiscard]] const std::vector<std::uint64_t>& known() const { return known_; }

 private:
  void index();

  std::vector<std::uint64_t> resumed_at_;
  std::vector<std::uint64_t> known_;
  std::vector<std::uint64_t> lowest_;  // by life: the lowest version at which a later life began
};

/// The slot that load() returns: the newest in the history. None: the client has no value.
[[nodiscard]] std::optional<std::size_t> current_slot(const slot_pair& slots, const incarnations& history);
/// The slot that the next commit overwrites if a checkpoint of version `covered` is durable.
[[nodiscard]] std::size_t slot_to_write(const slot_pair& slots, const incarnations& history, std::uint64_t covered);
/// The slot that the pending value of a task overwrites. `slots`: of the client's pending values, whose tags have the
/// task's version and, as their sequence, its attempt. The newest of a version below `covered` stays: if the run
/// resumes from that checkpoint its task is undecided again.
[[nodiscard]] std::size_t slot_to_stage(const slot_pair& slots, const incarnations& history, std::uint64_t covered,
                                        const federated::task_id& task);
/// True if a pending value's tag is that of a task.
[[nodiscard]] inline bool is_of(const slot_tag& tag, const federated::task_id& task) {
  return tag.present && tag.version == task.version && tag.sequence == task.attempt;
}
/// The sequence number of the next commit.
[[nodiscard]] inline std::uint64_t next_sequence(const slot_pair& slots) {
  return std::max(slots[0].sequence, slots[1].sequence) + 1;
}

}  // namespace furlong::storage::detail
