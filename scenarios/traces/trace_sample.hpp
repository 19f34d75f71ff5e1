// Records the output of an availability generator as a trace.
#pragma once

#include <cstdint>

#include "base/result.hpp"
#include "federated/world/availability_trace.hpp"

namespace furlong::federated {
struct availability_settings;
}

namespace furlong::scenarios {

/// The first `length` of clients 0 to clients - 1 under a generator (any kind but trace). A Bernoulli generator has
/// rounds but no time: each `step` of the settings is a round. Fails (kind usage) if this exceeds the maximum number of
/// intervals of a trace.
[[nodiscard]] result<federated::availability_trace> sample_trace(const federated::availability_settings& settings,
                                                                 std::uint64_t seed, std::uint32_t clients,
                                                                 federated::virtual_time length);

}  // namespace furlong::scenarios
