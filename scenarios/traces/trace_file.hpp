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

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

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

// Collects intervals in any order and makes an availability trace of them.

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

// What an availability trace is like, in a few numbers.

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
