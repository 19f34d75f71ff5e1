#include "federated/audit/audit_bound.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

namespace furlong::federated::privacy {

namespace {

/// log P[W = k] of W ~ Binomial(trials, 1 / (1 + e^-epsilon)).
double log_binomial(std::uint64_t trials, std::uint64_t k, double epsilon) {
  const auto n = static_cast<double>(trials);
  const auto successes = static_cast<double>(k);
  return std::lgamma(n + 1) - std::lgamma(successes + 1) - std::lgamma(n - successes + 1) - (n - successes) * epsilon -
         n * std::log1p(std::exp(-epsilon));
}

}  // namespace

double guess_probability(const guesses& of, double epsilon, double delta) {
  double at_least = 0.0;
  for (auto k = of.right; k <= of.made; ++k) at_least += std::exp(log_binomial(of.made, k, epsilon));
  double steepest = 0.0;
  double below = 0.0;  // P[v > W >= v - i]
  for (std::uint64_t i = 1; delta > 0 && i <= of.right; ++i) {
    below += std::exp(log_binomial(of.made, of.right - i, epsilon));
    steepest = std::max(steepest, below / static_cast<double>(i));
  }
  return std::min(1.0, at_least + 2.0 * static_cast<double>(of.canaries) * delta * steepest);
}

double refuted_epsilon(const guesses& of, double delta, double least) {
  if (of.made == 0 || guess_probability(of, 0.0, delta) > least) return 0.0;
  double low = 0.0;
  double high = 1.0;
  while (guess_probability(of, high, delta) <= least) high *= 2.0;
  while (high - low > 1e-9) {
    const double middle = 0.5 * (low + high);
    (guess_probability(of, middle, delta) <= least ? low : high) = middle;
  }
  return low;
}

audit_bound bound_by_canaries(std::span<const judged_canary> canaries, double claimed, double delta,
                              double confidence) {
  constexpr std::uint64_t fewest = 8;
  std::vector<judged_canary> surest(canaries.begin(), canaries.end());
  std::ranges::stable_sort(surest, std::ranges::greater{},
                           [](const judged_canary& one) { return std::abs(one.log_odds); });
  std::vector<guesses> all;
  for (std::uint64_t made = surest.size(); made >= fewest; made /= 2) {
    const auto right = std::ranges::count_if(surest.begin(), surest.begin() + static_cast<std::ptrdiff_t>(made),
                                             [](const auto& one) { return one.in == (one.log_odds > 0); });
    all.push_back({surest.size(), made, static_cast<std::uint64_t>(right)});
  }
  audit_bound found{{surest.size(), 0, 0}, all.size(), 0.0, 1.0};
  const auto tried = static_cast<double>(all.size());
  for (const auto& one : all) {
    const double epsilon = refuted_epsilon(one, delta, (1.0 - confidence) / tried);
    if (found.best.made == 0 || epsilon > found.epsilon) {
      found.best = one;
      found.epsilon = epsilon;
    }
    found.p_value = std::min(found.p_value, tried * guess_probability(one, claimed, delta));
  }
  return found;
}

membership_auc tell_members(std::span<const double> members, std::span<const double> others) {
  std::vector<double> sorted(others.begin(), others.end());
  std::ranges::sort(sorted);
  double wins = 0.0;
  for (const double score : members) {
    const auto [first, last] = std::equal_range(sorted.begin(), sorted.end(), score);
    wins += static_cast<double>(first - sorted.begin()) + 0.5 * static_cast<double>(last - first);
  }
  const auto m = static_cast<double>(members.size());
  const auto n = static_cast<double>(others.size());
  const double auc = wins / (m * n);
  const double two_members = auc / (2.0 - auc) - auc * auc;
  const double two_others = 2.0 * auc * auc / (1.0 + auc) - auc * auc;
  const double variance = (auc * (1.0 - auc) + (m - 1.0) * two_members + (n - 1.0) * two_others) / (m * n);
  constexpr double normal_quantile = 1.959963984540054;
  return {auc, normal_quantile * std::sqrt(std::max(variance, 0.0))};
}

}  // namespace furlong::federated::privacy
