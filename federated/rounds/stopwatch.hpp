// The duration of a run over all its lives.
#pragma once

#include <chrono>

#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// Seconds of processor time that this process has used.
[[nodiscard]] double process_cpu_seconds();

/// Measures wall and processor time of a run, in total and in training. Not thread-safe.
class stopwatch {
 public:
  /// Continues from the times of earlier lives.
  explicit stopwatch(const server_state& from);

  /// Training begins or continues; pause() stops it for evaluations and checkpoints.
  void train();
  void pause();
  /// Writes the times into a state.
  void tell(server_state& state) const;

 private:
  using clock = std::chrono::steady_clock;
  [[nodiscard]] static double seconds_since(clock::time_point start);

  double wall_before_;
  double cpu_before_;
  double train_seconds_;
  double train_cpu_seconds_;
  clock::time_point begun_;
  clock::time_point train_begun_;
  double train_cpu_begun_ = 0.0;
  bool training_ = false;
};

}  // namespace furlong::federated
