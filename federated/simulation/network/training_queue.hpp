// The training of a simulated federation's clients, done ahead of virtual time by anybody.
#pragma once

#include <set>
#include <unordered_map>

#include "federated/simulation/virtual_run.hpp"

namespace furlong::federated::network {

/// Jobs by number, from 1. A job is taken in the order in which results are needed, and its result is collected when
/// virtual time gets there.
class training_queue {
 public:
  [[nodiscard]] std::uint64_t add(training_job job, virtual_time needed_at);
  /// Nobody needs the result any more.
  void cancel(std::uint64_t number);
  /// Whether the result is needed and not there.
  [[nodiscard]] bool waits_for(std::uint64_t number) const;
  [[nodiscard]] training_job collect(std::uint64_t number);

  // For the threads that train.
  void take(std::size_t count, std::vector<training_job>& out);
  void on_trained(training_job&& done);
  [[nodiscard]] std::size_t size() const { return jobs_.size(); }
  /// Jobs under way, and results that wait to be collected.
  [[nodiscard]] std::size_t ahead() const { return taken_; }

 private:
  struct known_job {
    training_job job;
    virtual_time needed_at = 0;
    enum { waiting, taken, done } stage = waiting;
  };
  std::unordered_map<std::uint64_t, known_job> jobs_;
  std::set<std::pair<virtual_time, std::uint64_t>> waiting_;
  std::uint64_t last_ = 0;
  std::size_t taken_ = 0;
};

}  // namespace furlong::federated::network
