// Bulyan of Krum (El Mhamdi et al., "The hidden vulnerability of distributed learning in Byzantium", 2018): theta = n -
// 2f times Krum's choice is taken out of the updates; then each value is the mean of the theta - 2f values of the
// chosen ones that are nearest to their median. Needs n >= 4f + 3.
#include <algorithm>
#include <numeric>

#include "federated/aggregation/robust/krum.hpp"
#include "federated/aggregation/robust/rules.hpp"
#include "federated/aggregation/robust/values.hpp"

namespace furlong::federated::robust {

namespace {

std::vector<double> choose(const cohort& rows, std::size_t bad, const option_values& /*options*/) {
  std::vector<std::size_t> left(rows.count());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<double> weights(rows.count(), 0.0);
  while (left.size() > 2 * bad) {
    const auto scores = krum_scores(rows, left, krum_neighbours(left.size(), bad));
    const auto best = std::ranges::min_element(scores) - scores.begin();
    weights[left[static_cast<std::size_t>(best)]] = 1.0;
    left.erase(left.begin() + best);
  }
  return weights;
}

}  // namespace

robust_rule bulyan() {
  return {.kind = "bulyan",
          .doc =
              "Values near the median of the updates that Krum chooses one after another (El Mhamdi et al. 2018). "
              "Needs 4 f + 3 updates.",
          .fewest = [](std::size_t bad) { return 4 * bad + 3; },
          .weigh = choose,
          .combine = [](std::span<const double> sorted,
                        std::size_t bad) { return mean_near_median(sorted, sorted.size() - 2 * bad); }};
}

}  // namespace furlong::federated::robust
