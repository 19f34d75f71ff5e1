// Recording what a generator of availability does, as a trace.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "federated/simulation/availability_trace.hpp"

namespace furlong::federated {
struct availability_settings;
}

namespace furlong::scenarios {

/// The first `length` of clients 0 to clients - 1 under a generator (any kind but trace). A Bernoulli generator knows
/// rounds and no time: each `step` of the settings is a round. Fails (kind usage) when that is more intervals than a
/// trace may have.
[[nodiscard]] result<federated::availability_trace> sample_trace(const federated::availability_settings& settings,
                                                                 std::uint64_t seed, std::uint32_t clients,
                                                                 federated::virtual_time length);

}  // namespace furlong::scenarios
