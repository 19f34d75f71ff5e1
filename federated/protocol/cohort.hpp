// The clients of a round as the server looks for them: when it looks, and how many it needs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <utility>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::protocol {

/// One round at a time:
///   - The server looks for clients as soon as the round begins. When it finds too few it looks again, after pauses
///     that double. Only the time of the last retry counts: earlier ones are void.
///   - `goal` aggregated updates close the round.
///   - A round that nobody reported to can be prolonged until an instant at which it ends without looking again.
class cohort {
 public:
  /// A round begins at `now`.
  void begin_round(virtual_time now);
  [[nodiscard]] virtual_time began_at() const { return began_at_; }

  void set_goal(std::size_t updates) { goal_ = updates; }
  [[nodiscard]] std::size_t goal() const { return goal_; }

  /// Too few clients were found: the pause until the server looks again, `first` or a power of 2 as long, and an hour
  /// or `first` at most.
  [[nodiscard]] virtual_time pause(virtual_time first);
  /// True if it looked for clients and found too few, in this round or since restart().
  [[nodiscard]] bool is_retrying() const { return retries_ > 0; }
  /// The next pauses are as short as the first ones.
  void restart() { retries_ = 0; }
  /// It looks again then.
  void retry_at(virtual_time instant) { next_ = instant; }
  /// True if this is the instant of the next look.
  [[nodiscard]] bool is_next(virtual_time instant) const { return next_ == instant; }
  /// It does not look again. False if it did not wait.
  bool stop_waiting() { return std::exchange(next_, never) != never; }

  /// Nobody is selected yet, and the round waits for its first clients, until some are selected or it ends.
  void await_first() { awaits_first_ = true; }
  void stop_awaiting_first() { awaits_first_ = false; }
  [[nodiscard]] bool awaits_first() const { return awaits_first_; }

  void prolong() { prolonged_ = true; }
  [[nodiscard]] bool is_prolonged() const { return prolonged_; }

 private:
  std::size_t goal_ = 0;
  virtual_time began_at_ = 0;
  std::uint32_t retries_ = 0;
  virtual_time next_ = never;
  bool awaits_first_ = false;
  bool prolonged_ = false;
};

inline void cohort::begin_round(virtual_time now) {
  began_at_ = now;
  retries_ = 0;
  next_ = never;
  prolonged_ = false;
}

inline virtual_time cohort::pause(virtual_time first) {
  // If no client is connected the server selects again after growing intervals and finally abandons the round: no run
  // waits forever.
  constexpr virtual_time longest = 3600 * microseconds_per_second;
  return std::min(first << std::min(retries_++, 20U), std::max(longest, first));
}

}  // namespace furlong::federated::protocol
