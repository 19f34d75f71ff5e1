// What an availability trace is like, in a few numbers.
#pragma once

#include <array>
#include <cstdint>

#include "federated/simulation/availability_trace.hpp"

namespace furlong::scenarios {

struct trace_facts {
  std::uint64_t devices = 0;
  std::uint64_t never_available = 0;  ///< devices without an interval
  std::uint64_t intervals = 0;
  federated::virtual_time length = 0;
  double mean_availability = 0.0;  ///< share of devices and time
  /// Share of the devices available in each hour of the day, mean over the days; 0 for an hour that a trace shorter
  /// than a day does not reach.
  std::array<double, 24> by_hour{};
  federated::virtual_time longest = 0;  ///< interval
  double mean_interval = 0.0;           ///< seconds
};
[[nodiscard]] trace_facts describe(const federated::availability_trace& trace);

}  // namespace furlong::scenarios
