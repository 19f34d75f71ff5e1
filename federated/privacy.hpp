// Noise that the server adds to a round's aggregate.
#pragma once

#include "federated/aggregation/accumulator.hpp"
#include "federated/experiment.hpp"

namespace furlong::federated {

/// [privacy] noise z: N(0, (z clip)^2) on the sum of the clipped updates, so N(0, (z clip / count)^2) on their mean
/// (DP-FedAvg; McMahan et al. 2018); times round.mixing, as the updates are. [algorithm] aggregation.noise with
/// noise_at = "server": N(0, noise^2) once after aggregation (FedAtt's published code). Where both are set the
/// variances add up. What clients report of added tensors gets the same, those of the rule `sum` on the sum. Keyed by
/// (seed, version).
void add_server_noise(const experiment& e, std::uint64_t version, aggregate& round);

}  // namespace furlong::federated
