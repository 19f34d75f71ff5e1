// Time as the protocol sees it: whole microseconds since the run began, of simulated time or of the wall's.
//
// Whole numbers, so that sums do not depend on their order and a checkpoint holds every instant exactly.
#pragma once

#include <cmath>
#include <cstdint>

namespace furlong::federated {

using virtual_time = std::int64_t;
constexpr virtual_time microseconds_per_second = 1'000'000;
/// Later than anything that happens: about 146,000 years. Half the range, so that a span can be added to it.
constexpr virtual_time never = INT64_MAX / 2;

/// Rounded to the nearest microsecond; never when that is out of reach.
[[nodiscard]] inline virtual_time from_seconds(double seconds) {
  const double micros = seconds * static_cast<double>(microseconds_per_second);
  if (!(micros < static_cast<double>(never))) return never;
  return micros > 0.0 ? static_cast<virtual_time>(std::llround(micros)) : 0;
}
[[nodiscard]] constexpr double to_seconds(virtual_time span) {
  return static_cast<double>(span) / static_cast<double>(microseconds_per_second);
}

}  // namespace furlong::federated
