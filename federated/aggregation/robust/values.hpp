// Medians and means of the values of one position, the lowest first.
#pragma once

#include <cstddef>
#include <span>

namespace furlong::federated::robust {

/// The middle value, or the mean of the two middle ones. Not of nothing.
[[nodiscard]] double median_of(std::span<const double> sorted);
/// The mean, added in this order. Not of nothing.
[[nodiscard]] double mean_of(std::span<const double> sorted);
/// The mean of the `kept` values nearest to the median, of two at the same distance the lower first. 0 < kept <= n.
[[nodiscard]] double mean_near_median(std::span<const double> sorted, std::size_t kept);

}  // namespace furlong::federated::robust
