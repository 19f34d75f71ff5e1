// Recorded devices: what was measured of each, in place of what the settings draw.
#pragma once

#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

#include "federated/experiment/update.hpp"

namespace furlong::federated {

/// Columns by device; empty where there is no such column. Client c of a run has row c modulo the number of devices, as
/// in an availability_trace.
struct device_table {
  /// A field that says nothing: the scenario's value holds.
  static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

  std::size_t devices = 0;
  std::vector<double> ms_per_example;                         ///< forward
  std::vector<double> mbit;                                   ///< each way, 10^6 bits a second
  std::array<std::vector<double>, drop_stage_count> dropout;  ///< probabilities by stage

  [[nodiscard]] std::optional<double> value(const std::vector<double>& column, std::uint32_t client) const {
    if (column.empty()) return std::nullopt;
    const double found = column[client % devices];
    return std::isnan(found) ? std::nullopt : std::optional(found);
  }
};

}  // namespace furlong::federated
