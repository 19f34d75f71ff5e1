#include "scenarios/traces/trace_facts.hpp"

#include <algorithm>

namespace furlong::scenarios {

using federated::virtual_time;

namespace {

constexpr virtual_time microseconds_per_hour = 3600 * federated::microseconds_per_second;
using hours = std::array<double, 24>;

/// Adds the seconds of [start, end) to the hours of the day in which they lie.
void spread(virtual_time start, virtual_time end, hours& over) {
  while (start < end) {
    const auto hour = start / microseconds_per_hour;
    const auto next = std::min(end, (hour + 1) * microseconds_per_hour);
    over[static_cast<std::size_t>(hour % 24)] += federated::to_seconds(next - start);
    start = next;
  }
}

}  // namespace

trace_facts describe(const federated::availability_trace& trace) {
  trace_facts facts;
  facts.devices = trace.devices();
  facts.intervals = trace.starts.size();
  facts.length = trace.length;
  for (std::size_t device = 0; device < trace.devices(); ++device)
    facts.never_available += trace.offsets[device] == trace.offsets[device + 1] ? 1 : 0;
  hours available{};
  double seconds = 0.0;
  for (std::size_t i = 0; i < trace.starts.size(); ++i) {
    const auto span = trace.ends[i] - trace.starts[i];
    spread(trace.starts[i], trace.ends[i], available);
    facts.longest = std::max(facts.longest, span);
    seconds += federated::to_seconds(span);
  }
  if (facts.intervals != 0) facts.mean_interval = seconds / static_cast<double>(facts.intervals);
  const auto devices = static_cast<double>(facts.devices);
  if (facts.devices == 0 || trace.length == 0) return facts;
  facts.mean_availability = seconds / (devices * federated::to_seconds(trace.length));
  hours there_are{};
  spread(0, trace.length, there_are);
  for (std::size_t hour = 0; hour < 24; ++hour)
    if (there_are[hour] > 0.0) facts.by_hour[hour] = available[hour] / (devices * there_are[hour]);
  return facts;
}

}  // namespace furlong::scenarios
