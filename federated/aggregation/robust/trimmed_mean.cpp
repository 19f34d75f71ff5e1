// Each value without the f lowest and the f highest (Yin et al., "Byzantine-robust distributed learning: towards
// optimal statistical rates", 2018).
#include "federated/aggregation/robust/rules.hpp"
#include "federated/aggregation/robust/values.hpp"

namespace furlong::federated::robust {

robust_rule trimmed_mean() {
  return {.kind = "trimmed-mean",
          .doc = "The mean of each value without the f lowest and the f highest (Yin et al. 2018).",
          .combine = [](std::span<const double> sorted, std::size_t bad) {
            return mean_of(sorted.subspan(bad, sorted.size() - 2 * bad));
          }};
}

}  // namespace furlong::federated::robust
