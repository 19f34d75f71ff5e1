// What the readers of other simulators' traces have in common: devices by name, each with a period of its own.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.hpp"
#include "federated/simulation/availability_trace.hpp"

namespace furlong::scenarios {

/// Intervals of one device, all inside [0, period), and what they repeat after.
struct recorded_device {
  federated::virtual_time period = 0;
  std::vector<std::pair<federated::virtual_time, federated::virtual_time>> intervals;
};

/// One message of a device's log: seconds since 1970 as the log's clock shows them, and the state that begins.
struct dated_message {
  std::int64_t second = 0;
  std::string state;
};

// Each says what is wrong, or nothing.
/// FedScale: pairs up the times at which a client becomes active and inactive. A first end that comes before the first
/// beginning ends a spell that began at 0; a last spell without an end lasts until `finish`; what lies beyond `finish`
/// is cut off. finish 0: the last time.
[[nodiscard]] std::string pair_up(const std::vector<federated::virtual_time>& active,
                                  const std::vector<federated::virtual_time>& inactive, federated::virtual_time finish,
                                  recorded_device& out);
/// FLASH: "YYYY-MM-DD HH:MM:SS" and a state.
[[nodiscard]] std::string date_message(std::string_view time, std::string_view state, dated_message& out);
/// FLASH: replays the log, messages of one second in their order.
[[nodiscard]] std::string replay(std::vector<dated_message> log, recorded_device& out);

/// Fills one length with all devices. Fails when that takes too many intervals.
[[nodiscard]] result<federated::availability_trace> repeat(const std::vector<recorded_device>& devices,
                                                           const std::string& name);

}  // namespace furlong::scenarios
