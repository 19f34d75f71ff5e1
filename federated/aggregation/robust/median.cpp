// The median of each value (Yin et al., "Byzantine-robust distributed learning: towards optimal statistical rates",
// 2018). Of an even number: the mean of the middle two.
#include "federated/aggregation/robust/rules.hpp"
#include "federated/aggregation/robust/values.hpp"

namespace furlong::federated::robust {

robust_rule median() {
  return {.kind = "median",
          .doc = "The median of each value (Yin et al. 2018).",
          .combine = [](std::span<const double> sorted, std::size_t) { return median_of(sorted); }};
}

}  // namespace furlong::federated::robust
