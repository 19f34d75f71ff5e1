// Imports behaviour traces of other simulators as availability traces. docs/traces.md shows the files.
//
// FedScale (Lai et al. 2022; client_behave_trace): per client the seconds at which it becomes active and inactive,
// repeated after its finish_time. FLASH (Yang et al. 2021; state_traces): per device a log of dated messages; it is
// available while it charges, is on WiFi, and its screen is off or locked. Time 0 is the midnight before a device's
// first message, which preserves the hours of the day; it repeats after the whole days that its log spans.
//
// A trace has one length: the longest of its devices', rounded up to a whole day. Devices with a shorter one are
// repeated.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/world/availability_trace.hpp"

namespace furlong::scenarios {

enum class foreign_trace : std::uint8_t { automatic, fedscale, flash };

/// Reads a whole file: a JSON object per line, or CSV with a header. Devices are numbered in order of first appearance.
/// Fails (kind data) at the first invalid line.
[[nodiscard]] result<federated::availability_trace> import_trace(const std::filesystem::path& path,
                                                                 foreign_trace format);
/// The same for a text; `name` is the file in messages.
[[nodiscard]] result<federated::availability_trace> import_trace(std::string_view text, const std::string& name,
                                                                 foreign_trace format);
/// The names of the devices of such a file, in the order of their numbers; empty: a device has none.
[[nodiscard]] result<std::vector<std::string>> device_names(const std::filesystem::path& path);

}  // namespace furlong::scenarios
