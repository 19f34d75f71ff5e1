// How many jobs a trainer is sent at once.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace furlong::actors {

/// A block is two messages, each of which may wake a thread, and a job may be as short as a few microseconds. So a
/// block is to last a millisecond, by a moving mean of what jobs took. It lasts less where a round would otherwise have
/// fewer than four blocks for each thread, which then would not end together, but never so little that waking another
/// thread costs more than its help.
///
/// Sizes depend on times that are measured; results do not depend on sizes. Not thread-safe.
class block_size {
 public:
  static constexpr double wanted_seconds = 1e-3;
  static constexpr double least_seconds = 0.25e-3;
  static constexpr std::size_t blocks_per_thread = 4;
  static constexpr std::size_t unmeasured_jobs = 8;  ///< of the first blocks at most

  /// @param at_once jobs that a run has at a time: those of a round, or those in flight
  block_size(std::size_t at_once, std::size_t threads)
      : at_once_(std::max<std::size_t>(at_once, 1)),
        share_(std::max<std::size_t>(at_once / (blocks_per_thread * std::max<std::size_t>(threads, 1)), 1)),
        jobs_(std::min(share_, unmeasured_jobs)) {}

  /// At least 1.
  [[nodiscard]] std::size_t jobs() const { return jobs_; }

  /// A trainer took so long for a block.
  void on_done(std::size_t jobs, double seconds) {
    if (jobs == 0) return;
    recent_jobs_ = kept * recent_jobs_ + static_cast<double>(jobs);
    recent_seconds_ = kept * recent_seconds_ + std::max(seconds, 0.0);
    const double each = recent_seconds_ / recent_jobs_;
    // Infinite where the clock saw no time pass.
    const double wanted =
        std::clamp(static_cast<double>(share_), std::ceil(least_seconds / each), std::ceil(wanted_seconds / each));
    jobs_ = static_cast<std::size_t>(std::min(wanted, static_cast<double>(at_once_)));
  }

 private:
  static constexpr double kept = 0.875;  ///< of earlier blocks, in the mean

  std::size_t at_once_;
  std::size_t share_;  ///< of a round
  std::size_t jobs_;
  double recent_jobs_ = 0.0;
  double recent_seconds_ = 0.0;
};

}  // namespace furlong::actors
