// The cost of a run's rounds.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::bench {

/// The cost of the rounds after the first ones, when buffers have grown; without loading and evaluation.
struct speed {
  double per_wall_second = 0.0;  ///< client tasks that ended
  double per_cpu_second = 0.0;
  double cpu_us = 0.0;  ///< of one task
};

/// Takes the times at the end of the first `skipped` rounds of a run, and of its last one.
class round_watch {
 public:
  /// `cpu` returns the processor time to measure.
  round_watch(const federated::experiment& e, double (*cpu)(), std::uint64_t skipped = 1)
      : cpu_(cpu), skipped_(skipped), last_(e.settings.rounds) {}

  /// For one run, which the watch must outlive.
  [[nodiscard]] federated::run_observer observer();
  /// Ends the program with status 4 if the run ended before its last round, as diverged ones do.
  [[nodiscard]] speed read() const;

 private:
  double (*cpu_)();
  std::uint64_t skipped_;
  std::uint64_t last_;
  double tasks_ = 0.0;
  double wall_ = 0.0;
  double cpu_used_ = 0.0;
};

/// A whole run by the actor engine, under the clock of the experiment, with an empty store.
[[nodiscard]] speed time_engine(const federated::experiment& e, std::size_t threads, std::uint64_t skipped = 1);

/// One figure of all runs.
[[nodiscard]] std::vector<double> column(const std::vector<speed>& from, double speed::*what);

/// Prints the error and ends the program with status 4.
[[noreturn]] void give_up(const error& why);
/// The value; ends the program with status 4 if there is none.
template <class T>
[[nodiscard]] T expect(result<T> got) {
  if (got) return std::move(*got);
  give_up(got.error());
}

}  // namespace furlong::bench
