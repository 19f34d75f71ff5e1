// Ranks on the scale of a standard normal distribution.
#pragma once

#include <vector>

namespace furlong::scenarios {

/// The normal scores of the clients' values by rank, equal values in the order of the clients.
[[nodiscard]] std::vector<float> normal_scores(const std::vector<double>& values);

}  // namespace furlong::scenarios
