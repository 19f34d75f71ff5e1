// Medians and means of the values of one position.
#pragma once

#include <cstddef>
#include <span>

namespace furlong::federated::robust {

/// The middle value, or the mean of the two middle ones; reorders. `values` is not empty.
[[nodiscard]] double median_of(std::span<double> values);
/// The mean of the `kept` values nearest to the median, of two at the same distance the lower first; reorders.
/// 0 < kept <= n.
[[nodiscard]] double mean_near_median(std::span<double> values, std::size_t kept);

}  // namespace furlong::federated::robust
