// What the server's state was at earlier moments.
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "federated/state/server_state.hpp"

namespace furlong::federated::protocol {

/// Two moments that a run can be resumed from, while later things have already been written into the state:
///   - the beginning of the current round, where rounds are remembered (the ledger remembers its own part);
///   - the end of the last closed round, where clients are routed. Tasks that ended since then are open at that moment,
///     for no round has reported their outcomes.
class round_memory {
 public:
  /// @param counts of the state that the run begins with
  explicit round_memory(const accounting& counts) : closed_(counts) {}

  void remember_rounds() { remembers_ = true; }
  [[nodiscard]] bool remembers() const { return remembers_; }
  /// A round begins, or waits for its first clients, in this state with these open tasks.
  void begin_round(const server_state& state, std::vector<open_task> open) {
    began_ = {state.now, state.counts, std::move(open)};
  }
  /// Makes the state that of the last begin_round().
  void restore_beginning(server_state& state) const {
    state.now = began_.now;
    state.counts = began_.counts;
    state.open = began_.open;
  }

  /// A task ended, without an update in the current round.
  void end_task(const open_task& task) { ended_.push_back(task); }
  /// Those tasks: their models are needed as those of open ones are.
  [[nodiscard]] std::span<const open_task> ended() const { return ended_; }
  /// A round was closed and reported.
  void close_round(const accounting& counts) {
    closed_ = counts;
    ended_.clear();
  }
  /// Makes the state, with all tasks that are open now, that of the last close_round(). In no order.
  void restore_closed(server_state& state) const {
    state.counts = closed_;
    state.open.insert(state.open.end(), ended_.begin(), ended_.end());
  }

 private:
  struct round_start {
    virtual_time now = 0;
    accounting counts;
    std::vector<open_task> open;
  };

  bool remembers_ = false;
  round_start began_;
  accounting closed_;
  std::vector<open_task> ended_;
};

}  // namespace furlong::federated::protocol
