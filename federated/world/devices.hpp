// How fast a client's device computes and communicates.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>

#include "base/box.hpp"
#include "federated/experiment/population.hpp"
#include "federated/world/device_table.hpp"

namespace furlong::federated {

struct device_settings;

/// One client's device, the same throughout a run.
struct device {
  double seconds_per_example = 0.0;  ///< of training: three times the forward pass (FedScale; Lai et al. 2022)
  double bytes_per_second = 0.0;     ///< each way
  /// Probabilities of dropping out by stage, in place of those of [dropout].
  std::array<std::optional<double>, drop_stage_count> dropout = {};
};

/// Devices of all clients, drawn when they are looked at, or recorded. Immutable and thread-safe.
class device_park {
 public:
  /// `clients` gives the taste that the settings may correlate with; it must outlive the park. `recorded` may be null.
  device_park(const device_settings& settings, std::uint64_t seed, const population& clients,
              std::shared_ptr<const device_table> recorded = nullptr);

  [[nodiscard]] device of(std::uint32_t client) const;
  /// Standard normal scores of a client, with the correlations of the settings: z_taste is the population's.
  struct scores {
    double speed = 0.0;  ///< positive: faster
    double availability = 0.0;
  };
  [[nodiscard]] scores scores_of(std::uint32_t client) const;

 private:
  [[nodiscard]] device draw(std::uint32_t client) const;

  box<device_settings> settings_;
  std::uint64_t seed_;
  const population* clients_;
  std::shared_ptr<const device_table> recorded_;
  double total_share_ = 0.0;
  // Cholesky factor of the correlations of (taste, availability, speed), row by row.
  double a_taste_ = 0.0;
  double a_residual_ = 1.0;
  double s_taste_ = 0.0;
  double s_availability_ = 0.0;
  double s_residual_ = 1.0;
};

/// Whether three correlations can hold at once: their matrix is positive semi-definite.
[[nodiscard]] bool can_hold(double speed_availability, double speed_taste, double availability_taste);

}  // namespace furlong::federated
