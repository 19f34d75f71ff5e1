// Common code of the readers of other simulators' traces: named devices, each with its own period.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "federated/world/availability_trace.hpp"

namespace furlong::scenarios {

/// Intervals of one device, all inside [0, period), and their period.
struct recorded_device {
  federated::virtual_time period = 0;
  std::vector<std::pair<federated::virtual_time, federated::virtual_time>> intervals;
};

/// One message of a device's log: seconds since 1970 in the log's local time, and the new state.
struct dated_message {
  std::int64_t second = 0;
  std::string state;
};

// Each returns a reason for failure, or nothing.
/// FedScale: pairs the times at which a client becomes active and inactive. A first end before the first beginning ends
/// an interval that began at 0; an unfinished last interval lasts until `finish`; times beyond `finish` are cut. finish
/// 0: the last time.
[[nodiscard]] std::string pair_up(const std::vector<federated::virtual_time>& active,
                                  const std::vector<federated::virtual_time>& inactive, federated::virtual_time finish,
                                  recorded_device& out);
/// FLASH: "YYYY-MM-DD HH:MM:SS" and a state.
[[nodiscard]] std::string date_message(std::string_view time, std::string_view state, dated_message& out);
/// FLASH: replays the log; messages of the same second stay in order.
[[nodiscard]] std::string replay(std::vector<dated_message> log, recorded_device& out);

/// Repeats all devices to a common length. Fails if this takes too many intervals.
[[nodiscard]] result<federated::availability_trace> repeat(const std::vector<recorded_device>& devices,
                                                           const std::string& name);

}  // namespace furlong::scenarios
