// The mean of the n - f values nearest to the median, for each value (Xie et al., "Generalized Byzantine-tolerant SGD",
// 2018: mean around median).
#include "federated/aggregation/robust/rules.hpp"
#include "federated/aggregation/robust/values.hpp"

namespace furlong::federated::robust {

robust_rule meamed() {
  return {.kind = "meamed",
          .doc = "The mean of the n - f values nearest to the median, for each value (Xie et al. 2018).",
          .combine = [](std::span<const double> sorted, std::size_t bad) {
            return mean_near_median(sorted, sorted.size() - bad);
          }};
}

}  // namespace furlong::federated::robust
