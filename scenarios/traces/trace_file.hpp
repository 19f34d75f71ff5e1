// Availability traces as plain text: a line an interval.
//
//   # length = 172800        optional: seconds after which the trace repeats; else the last end, up to a whole day
//   # clients = 3            optional: clients are 0, 1 and 2, also those without a line; else only those with one
//   count client,start,end         optional 0,3600,7200.5            client 0 is available from second 3600 to second
//   7200.5, the end excluded
//
// Lines stand in any order; intervals of a client that overlap or touch are one. Other lines that begin with # and
// empty lines are skipped. Times are kept to the microsecond.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "base/result.hpp"
#include "federated/simulation/availability_trace.hpp"

namespace furlong::scenarios {

/// Reads a whole file. Devices are the clients in ascending order of their numbers. Fails (kind data) at the first line
/// that is wrong: the error names file and line, what was found and what is expected.
[[nodiscard]] result<federated::availability_trace> read_trace(const std::filesystem::path& path);
/// The same of a text; `name` stands for the file in messages.
[[nodiscard]] result<federated::availability_trace> read_trace(std::string_view text, const std::string& name);

/// Writes what read_trace() reads back as the same trace. Fails (kind data) when the file cannot be written.
[[nodiscard]] result<void> write_trace(const federated::availability_trace& trace, const std::filesystem::path& path);

/// Seconds, with as many decimals as it takes: "7200.5".
[[nodiscard]] std::string seconds_text(federated::virtual_time time);
/// Takes a number of seconds off a text, and blanks around it. Nothing when there is none, or none from 0 to a century.
[[nodiscard]] bool take_seconds(std::string_view& text, federated::virtual_time& time);

}  // namespace furlong::scenarios
