// Time of the protocol: whole microseconds since the start of the run, simulated or real.
//
// Integers: sums do not depend on their order, and a checkpoint holds every time exactly.
#pragma once

#include <cmath>
#include <cstdint>

namespace furlong::federated {

using virtual_time = std::int64_t;
constexpr virtual_time microseconds_per_second = 1'000'000;
/// Later than any event: about 146,000 years. Half the range, so that a duration can be added.
constexpr virtual_time never = INT64_MAX / 2;

/// Rounded to the nearest microsecond; `never` if out of range.
[[nodiscard]] inline virtual_time from_seconds(double seconds) {
  const double micros = seconds * static_cast<double>(microseconds_per_second);
  if (!(micros < static_cast<double>(never))) return never;
  return micros > 0.0 ? static_cast<virtual_time>(std::llround(micros)) : 0;
}
[[nodiscard]] constexpr double to_seconds(virtual_time span) {
  return static_cast<double>(span) / static_cast<double>(microseconds_per_second);
}

}  // namespace furlong::federated
