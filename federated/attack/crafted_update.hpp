// What attacks of clients that collude make their update of. m and s are the mean and the standard deviation of the
// updates that they know, value by value.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/function_ref.hpp"

namespace furlong::federated {

/// What the bad clients of a round know.
struct known_updates {
  std::vector<std::span<const float>> rows = {};  ///< in the order of clients; not empty
  std::size_t bad = 0;                            ///< updates of bad clients in the round
  std::size_t honest = 0;                         ///< and of the others
};

/// m
[[nodiscard]] std::vector<double> mean_of(const known_updates& known);
/// s
/// @param freedom the divisor is that much less than the number of updates: 1 in alie, as byzfl and Blades have it, 0
/// in
///                min-max, as its authors have it
[[nodiscard]] std::vector<double> deviation_of(const known_updates& known, const std::vector<double>& mean,
                                               std::size_t freedom);
/// start + factor direction
[[nodiscard]] std::vector<double> moved(const std::vector<double>& start, double factor,
                                        const std::vector<double>& direction);

/// The largest z at which enough honest updates are still further from the mean: Phi^-1((n - f - s) / (n - f)) with s =
/// floor(n / 2 + 1) - f; at least 0.
[[nodiscard]] double alie_factor(std::size_t count, std::size_t bad);

/// The factor of the largest harm among 20 (byzfl): from 0 in steps of 10, which double until one is no better and
/// shrink to 0.8 of themselves from then on; a step that is better is taken.
[[nodiscard]] double search_factor(function_ref<double(double factor)> harm);
/// The factor >= 0 of the largest harm among those that a search tries, which climbs one hill, and a grid.
[[nodiscard]] double worst_factor(function_ref<double(double factor)> harm);

}  // namespace furlong::federated
