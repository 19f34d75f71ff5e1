// Recorded availability: for each client of the trace, the intervals in which its device could work.
#pragma once

#include <cstdint>
#include <vector>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated {

/// Half-open intervals [start, end) of the traced devices, by device; inside a device ascending, disjoint and not
/// touching. Client c of a run follows device c modulo the number of devices, and time is taken modulo `length`.
struct availability_trace {
  virtual_time length = 0;             ///< at least the last end
  std::vector<std::uint64_t> offsets;  ///< devices + 1 positions in the two columns
  std::vector<virtual_time> starts;
  std::vector<virtual_time> ends;

  [[nodiscard]] std::size_t devices() const { return offsets.empty() ? 0 : offsets.size() - 1; }
};

}  // namespace furlong::federated
