// Where the federation's thread writes what is so, and the dashboard's threads read it.
#pragma once

#include <deque>
#include <functional>
#include <mutex>

#include "federated/rounds/run_observer.hpp"
#include "tools/dashboard/federation_status.hpp"
#include "tools/dashboard/round_history.hpp"

namespace furlong::tools::dashboard {

/// Where a board takes the time from.
struct board_clock {
  std::function<unix_time()> wall;  ///< of what is shown
  std::function<double()> steady;   ///< seconds since anything; of ages
};
[[nodiscard]] board_clock system_clocks();

/// Thread-safe; every call is short. Holds a bounded amount: rounds as round_history does, `most_points` evaluations
/// (every other one is forgotten when there are more), `most_events` events, the newest.
class status_board {
 public:
  static constexpr std::size_t most_points = 1000;
  static constexpr std::size_t most_events = 500;
  static constexpr std::size_t most_staleness = 64;  ///< staleness counted apart; the last counts all beyond

  explicit status_board(board_clock clocks = system_clocks());

  /// Replaces what is true now. A federation that is alive calls this every second or so, also when nothing changes:
  /// /healthz takes long silence for a federation that hangs.
  void publish(live_status now);
  /// A round ended that took `seconds`.
  void round_ended(const federated::round_report& report, double seconds);
  void evaluated(const federated::evaluation_report& report);
  void happened(event_record event);
  /// What the protocol writes down.
  void happened(const federated::run_event& event);

  /// All as of the last publication: what was reported since comes with the next one, so that a reader sees one moment.
  [[nodiscard]] federation_status snapshot() const;
  /// Rounds that end at version `first` or later, old ones merged.
  [[nodiscard]] std::vector<round_record> rounds_since(std::uint64_t first) const;
  /// Seconds since the last publication; since construction, if there was none.
  [[nodiscard]] double silence() const;

 private:
  /// What was reported and has no place in live_status.
  struct reports {
    std::uint64_t version = 0;  ///< of the last round that ended
    std::vector<evaluation_record> learning;
    std::vector<std::uint64_t> staleness;
    std::deque<event_record> events;
  };

  board_clock clocks_;
  mutable std::mutex mutex_;
  live_status live_;
  bool published_ = false;
  double published_at_;  ///< steady
  round_history rounds_;
  reports now_;
  reports shown_;                  ///< as of the last publication
  std::uint64_t keep_every_ = 1;   ///< of the evaluations
  std::uint64_t evaluations_ = 0;  ///< reported so far
  std::uint64_t events_reported_ = 0;
};

}  // namespace furlong::tools::dashboard
