// Krum and multi-Krum (Blanchard et al., "Machine learning with adversaries: Byzantine tolerant gradient descent",
// 2017): the score of an update is the sum of its squared distances to its n - f - 2 nearest others; Krum takes the
// update of the lowest score, multi-Krum the mean of the m lowest. Other programs take n - f - 1 neighbours, or
// distances that are not squared, and then may choose other clients.
#include "federated/aggregation/robust/krum.hpp"

#include <algorithm>
#include <numeric>

#include "federated/aggregation/robust/rules.hpp"

namespace furlong::federated::robust {

std::vector<double> krum_scores(const cohort& rows, std::span<const std::size_t> candidates, std::size_t neighbours) {
  std::vector<double> scores;
  std::vector<double> distances;
  for (const auto candidate : candidates) {
    distances.clear();
    for (const auto neighbour : candidates)
      if (neighbour != candidate) distances.push_back(rows.squared_distance(candidate, neighbour));
    std::ranges::sort(distances);
    const auto nearest = std::min(neighbours, distances.size());
    scores.push_back(std::accumulate(distances.begin(), distances.begin() + static_cast<std::ptrdiff_t>(nearest), 0.0));
  }
  return scores;
}

std::size_t krum_neighbours(std::size_t candidates, std::size_t bad) {
  return candidates > bad + 2 ? candidates - bad - 2 : 1;
}

namespace {

/// Equal weights of the rows with the lowest scores.
std::vector<double> weigh_best(const cohort& rows, std::size_t bad, const option_values& options, std::size_t kept) {
  std::vector<std::size_t> order(rows.count());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto given = static_cast<std::size_t>(options.integer("neighbours"));
  const auto scores = krum_scores(rows, order, given > 0 ? given : krum_neighbours(rows.count(), bad));
  std::ranges::stable_sort(order, {}, [&](std::size_t row) { return scores[row]; });
  std::vector<double> weights(rows.count(), 0.0);
  kept = std::min(kept, order.size());
  for (std::size_t i = 0; i < kept; ++i) weights[order[i]] = 1.0 / static_cast<double>(kept);
  return weights;
}

option_spec neighbours_option() {
  return integer_option("neighbours", 0, "Nearest others that the score of an update adds; 0: n - f - 2, the paper's.",
                        {0, 1000000});
}

}  // namespace

robust_rule krum() {
  return {.kind = "krum",
          .doc = "The update with the least sum of squared distances to its nearest others (Blanchard et al. 2017).",
          .options = {neighbours_option()},
          .weigh = [](const cohort& rows, std::size_t bad, const option_values& options) {
            return weigh_best(rows, bad, options, 1);
          }};
}

robust_rule multi_krum() {
  return {.kind = "multi-krum",
          .doc = "The mean of the updates with the lowest scores of Krum (Blanchard et al. 2017).",
          .options = {neighbours_option(),
                      integer_option("keep", 0, "Updates whose mean is taken: m; 0: n - f.", {0, 1000000})},
          .weigh = [](const cohort& rows, std::size_t bad, const option_values& options) {
            const auto given = static_cast<std::size_t>(options.integer("keep"));
            return weigh_best(rows, bad, options, given > 0 ? given : rows.count() - bad);
          }};
}

}  // namespace furlong::federated::robust
