// Behaviour traces of other simulators, as availability traces. docs/traces.md shows the files.
//
// FedScale (Lai et al. 2022; client_behave_trace): of each client the seconds at which it becomes active and inactive,
// repeated after its finish_time. FLASH (Yang et al. 2021; state_traces): of each device a log of dated messages; it is
// available while it charges, is on WiFi, and its screen is off or locked. Time 0 is the midnight before a device's
// first message, so that the hours of the day stay what they were; it repeats after as many whole days as its log
// spans.
//
// A trace has one length: the longest of its devices', up to a whole day. A device with a shorter one is repeated to
// fill it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "federated/simulation/availability_trace.hpp"

namespace furlong::scenarios {

enum class foreign_trace : std::uint8_t { automatic, fedscale, flash };

/// Reads a whole file: a JSON object a line, or CSV that begins with a line of names. Devices are numbered in the order
/// in which the file names them first. Fails (kind data) at the first line that is wrong.
[[nodiscard]] result<federated::availability_trace> import_trace(const std::filesystem::path& path,
                                                                 foreign_trace format);
/// The same of a text; `name` stands for the file in messages.
[[nodiscard]] result<federated::availability_trace> import_trace(std::string_view text, const std::string& name,
                                                                 foreign_trace format);

}  // namespace furlong::scenarios
