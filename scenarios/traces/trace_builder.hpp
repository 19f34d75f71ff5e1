// Collects intervals in any order and makes an availability trace of them.
#pragma once

#include <cstdint>
#include <vector>

#include "federated/simulation/availability_trace.hpp"

namespace furlong::scenarios {

constexpr federated::virtual_time microseconds_per_day = 86'400 * federated::microseconds_per_second;
/// Times in a trace are below this: a century, in microseconds.
constexpr federated::virtual_time latest_in_trace = 36'525 * microseconds_per_day;
/// More intervals than this are refused: 24 bytes each while they are sorted.
constexpr std::size_t most_intervals = 100'000'000;

class trace_builder {
 public:
  /// Adds [start, end); an empty interval changes nothing.
  void add(std::uint32_t client, federated::virtual_time start, federated::virtual_time end) {
    if (start < end) intervals_.push_back({client, start, end});
  }
  [[nodiscard]] std::size_t size() const { return intervals_.size(); }
  void reserve(std::size_t intervals) { intervals_.reserve(intervals); }
  [[nodiscard]] federated::virtual_time last_end() const;
  /// The largest client number and one; 0 without intervals.
  [[nodiscard]] std::uint64_t clients() const;

  /// Devices in ascending order of their clients; overlapping and touching intervals of one are merged. `clients`: that
  /// many devices, numbered as the clients are, some perhaps without an interval; 0: a device for each client that has
  /// an interval. `length`: at least last_end(); 0: last_end() rounded up to whole days. Leaves the builder empty.
  [[nodiscard]] federated::availability_trace build(std::uint32_t clients, federated::virtual_time length);

 private:
  struct interval {
    std::uint32_t client;
    federated::virtual_time start;
    federated::virtual_time end;
  };
  std::vector<interval> intervals_;
};

/// Rounded up to a whole number of days, at least one.
[[nodiscard]] constexpr federated::virtual_time whole_days(federated::virtual_time span) {
  const auto days = (span + microseconds_per_day - 1) / microseconds_per_day;
  return (days > 0 ? days : 1) * microseconds_per_day;
}

}  // namespace furlong::scenarios
