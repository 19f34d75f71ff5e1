// The event queue of virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <queue>
#include <utility>
#include <vector>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::network {

constexpr virtual_time millisecond = 1000;
constexpr virtual_time second = microseconds_per_second;

/// Events in the order of time; at the same time in the order in which they were scheduled.
class event_queue {
 public:
  [[nodiscard]] virtual_time now() const { return now_; }
  /// Events that have happened.
  [[nodiscard]] std::uint64_t steps() const { return steps_; }
  [[nodiscard]] bool empty() const { return entries_.empty(); }

  /// `job`: the training job (training_queue) whose result the event uses; 0: none.
  void at(virtual_time when, std::function<void()> what, std::uint64_t job = 0) {
    entries_.push({std::max(when, now_), next_++, job, std::move(what)});
  }
  void after(virtual_time wait, std::function<void()> what) { at(now_ + wait, std::move(what)); }
  /// The job of the next event; the queue is not empty.
  [[nodiscard]] std::uint64_t next_job() const { return entries_.top().job; }
  /// False when nothing is left.
  bool step() {
    if (entries_.empty()) return false;
    auto what = std::move(const_cast<entry&>(entries_.top()).what);  // popped before anybody sees it
    now_ = entries_.top().when;
    entries_.pop();
    ++steps_;
    what();
    return true;
  }

 private:
  struct entry {
    virtual_time when;
    std::uint64_t order;
    std::uint64_t job;
    std::function<void()> what;
    bool operator<(const entry& other) const { return std::pair(when, order) > std::pair(other.when, other.order); }
  };
  std::priority_queue<entry> entries_;
  virtual_time now_ = 0;
  std::uint64_t next_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace furlong::federated::network
