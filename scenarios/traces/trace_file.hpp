// Availability traces as plain text: one interval per line.
//
//   # length = 172800        optional: seconds after which the trace repeats; else the last end, up to a whole day
//   # clients = 3            optional: clients are 0, 1 and 2, also those without a line; else only those with one
//   count client,start,end         optional 0,3600,7200.5            client 0 is available from second 3600 to second
//   7200.5, the end excluded
//
// Lines may be in any order; overlapping or adjacent intervals of a client are merged. Other lines that begin with #
// and empty lines are skipped. Times have microsecond precision.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.hpp"
#include "federated/world/availability_trace.hpp"

namespace furlong::scenarios {

/// Reads a whole file. Devices are the clients in ascending order of their numbers. Fails (kind data) at the first
/// invalid line: the error names file and line, what was found and what is expected.
[[nodiscard]] result<federated::availability_trace> read_trace(const std::filesystem::path& path);
/// The same for a text; `name` is the file in messages.
[[nodiscard]] result<federated::availability_trace> read_trace(std::string_view text, const std::string& name);

/// Writes a trace that read_trace() reads back identically. Fails (kind data) if the file cannot be written.
[[nodiscard]] result<void> write_trace(const federated::availability_trace& trace, const std::filesystem::path& path);

/// Seconds, with the necessary decimals: "7200.5".
[[nodiscard]] std::string seconds_text(federated::virtual_time time);
/// Consumes a number of seconds and surrounding blanks. Nothing if there is none from 0 to a century.
[[nodiscard]] bool take_seconds(std::string_view& text, federated::virtual_time& time);

// Collects intervals in any order and builds an availability trace.

constexpr federated::virtual_time microseconds_per_day = 86'400 * federated::microseconds_per_second;
/// Upper bound of times in a trace: a century, in microseconds.
constexpr federated::virtual_time latest_in_trace = 36'525 * microseconds_per_day;
/// Maximum number of intervals: 24 bytes each while they are sorted.
constexpr std::size_t most_intervals = 100'000'000;

class trace_builder {
 public:
  /// Adds [start, end); ignores an empty interval.
  void add(std::uint32_t client, federated::virtual_time start, federated::virtual_time end) {
    if (start < end) intervals_.push_back({client, start, end});
  }
  [[nodiscard]] std::size_t size() const { return intervals_.size(); }
  void reserve(std::size_t intervals) { intervals_.reserve(intervals); }
  [[nodiscard]] federated::virtual_time last_end() const;
  /// The largest client number plus one; 0 without intervals.
  [[nodiscard]] std::uint64_t clients() const;

  /// Devices in ascending order of their clients; overlapping and adjacent intervals are merged. `clients`: the number
  /// of devices, numbered like the clients, possibly without intervals; 0: a device for each client with an interval.
  /// `length`: at least last_end(); 0: last_end() rounded up to whole days. Leaves the builder empty.
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

// Summary statistics of an availability trace.

struct trace_facts {
  std::uint64_t devices = 0;
  std::uint64_t never_available = 0;  ///< devices without an interval
  std::uint64_t intervals = 0;
  federated::virtual_time length = 0;
  double mean_availability = 0.0;  ///< share of devices and time
  /// Share of the devices available in each hour of the day, mean over the days; 0 for hours beyond a trace shorter
  /// than a day.
  std::array<double, 24> by_hour{};
  federated::virtual_time longest = 0;  ///< interval
  double mean_interval = 0.0;           ///< seconds
};
[[nodiscard]] trace_facts describe(const federated::availability_trace& trace);

}  // namespace furlong::scenarios
