// What a person sees while a run goes on: on a terminal one line that is redrawn, else a line now and then. Stderr
// only.
#pragma once

#include <chrono>
#include <cstdint>

#include "federated/run_observer.hpp"

namespace furlong::tools {

/// Not thread-safe.
class progress {
 public:
  /// `done` of `total` rounds are behind us already.
  progress(std::uint64_t done, std::uint64_t total);
  void on_round(const federated::round_report& report);
  void on_evaluation(const federated::evaluation_report& report);
  /// Removes the redrawn line.
  void finish();

 private:
  using clock = std::chrono::steady_clock;
  void draw(const federated::round_report& report, double seconds) const;

  bool terminal_;
  std::uint64_t first_;
  std::uint64_t total_;
  std::uint64_t clients_ = 0;
  clock::time_point begun_;
  clock::time_point drawn_;
};

}  // namespace furlong::tools
