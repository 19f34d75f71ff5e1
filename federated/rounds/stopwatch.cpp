#include "federated/rounds/stopwatch.hpp"

#include <ctime>
#include <utility>

namespace furlong::federated {

double process_cpu_seconds() {
  timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

stopwatch::stopwatch(const server_state& from)
    : wall_before_(from.wall_seconds),
      cpu_before_(from.cpu_seconds - process_cpu_seconds()),
      train_seconds_(from.train_seconds),
      train_cpu_seconds_(from.train_cpu_seconds),
      begun_(clock::now()) {}

double stopwatch::seconds_since(clock::time_point start) {
  return std::chrono::duration<double>(clock::now() - start).count();
}

void stopwatch::train() {
  if (std::exchange(training_, true)) return;
  train_begun_ = clock::now();
  train_cpu_begun_ = process_cpu_seconds();
}

void stopwatch::pause() {
  if (!std::exchange(training_, false)) return;
  train_seconds_ += seconds_since(train_begun_);
  train_cpu_seconds_ += process_cpu_seconds() - train_cpu_begun_;
}

void stopwatch::tell(server_state& state) const {
  state.wall_seconds = wall_before_ + seconds_since(begun_);
  state.cpu_seconds = cpu_before_ + process_cpu_seconds();
  state.train_seconds = train_seconds_ + (training_ ? seconds_since(train_begun_) : 0.0);
  state.train_cpu_seconds = train_cpu_seconds_ + (training_ ? process_cpu_seconds() - train_cpu_begun_ : 0.0);
}

}  // namespace furlong::federated
