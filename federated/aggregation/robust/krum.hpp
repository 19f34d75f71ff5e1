// Krum's choice among updates.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "federated/aggregation/robust/cohort.hpp"

namespace furlong::federated::robust {

/// The candidates' sums of squared distances to their nearest others among them (Blanchard et al. 2017).
/// @param candidates rows, ascending
/// @param neighbours how many others; at most all
[[nodiscard]] std::vector<double> krum_scores(const cohort& rows, std::span<const std::size_t> candidates,
                                              std::size_t neighbours);
/// n - f - 2, the paper's number of neighbours, and at least 1.
[[nodiscard]] std::size_t krum_neighbours(std::size_t candidates, std::size_t bad);

}  // namespace furlong::federated::robust
