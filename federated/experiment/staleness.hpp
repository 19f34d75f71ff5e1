// The weight of stale updates.
#pragma once

#include "base/exact_math.hpp"
#include "federated/settings/participation.hpp"

namespace furlong::federated {

/// s(tau) in (0, 1] of an update that started `staleness` versions ago (Xie, Koyejo, Gupta 2019, section 5.2; FedBuff,
/// Nguyen et al. 2022, takes the polynomial with a = 1/2).
[[nodiscard]] inline double staleness_weight(const participation_settings& settings, std::uint64_t staleness) {
  const auto tau = static_cast<double>(staleness);
  switch (settings.weighting) {
    case staleness_kind::constant: return 1.0;
    case staleness_kind::polynomial: return exact::pow(1.0 + tau, -settings.staleness_exponent);
    case staleness_kind::hinge:
      return staleness <= settings.hinge_from ? 1.0 : 1.0 / (settings.hinge_slope * (tau - settings.hinge_from) + 1.0);
  }
  return 1.0;
}

}  // namespace furlong::federated
