// Noise that the server adds to a round's aggregate.
#pragma once

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment.hpp"

namespace furlong::federated {

/// [privacy] noise z: N(0, (z clip)^2) on the sum of the clipped updates, so N(0, (z clip / count)^2) on their mean
/// (DP-FedAvg; McMahan et al. 2018), times round.mixing. [algorithm] aggregation.noise with noise_at = "server": N(0,
/// noise^2) once after aggregation (FedAtt's published code). With both, the variances add up. Reported added tensors
/// get the same noise; those of the rule `sum` get it on the sum. Keyed by (seed, version).
void add_server_noise(const experiment& e, std::uint64_t version, aggregate& round);

}  // namespace furlong::federated
