#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "federated/aggregation/robust/robust_rule.hpp"
#include "federated/aggregation/robust/rules.hpp"

namespace furlong::federated::robust {

const std::vector<robust_rule>& robust_rules() {
  static const std::vector<robust_rule> rules = {median(), trimmed_mean(), meamed(), geometric_median(),
                                                 krum(),   multi_krum(),   bulyan()};
  return rules;
}

const robust_rule& find_robust_rule(std::string_view kind) {
  const auto found = std::ranges::find(robust_rules(), kind, &robust_rule::kind);
  if (found == robust_rules().end()) throw std::invalid_argument("no robust rule \"" + std::string(kind) + "\"");
  return *found;
}

std::size_t fewest_updates(const robust_rule& rule, std::size_t bad) {
  return rule.fewest != nullptr ? rule.fewest(bad) : 2 * bad + 1;
}

std::vector<double> aggregate_rows(const robust_rule& rule, const cohort& rows, std::size_t bad,
                                   const option_values& options) {
  const auto weights = rule.weigh != nullptr ? rule.weigh(rows, bad, options) : std::vector<double>(rows.count(), 1.0);
  if (rule.combine == nullptr) return rows.weighted_sum(weights);
  std::vector<std::size_t> chosen;
  for (std::size_t i = 0; i < weights.size(); ++i)
    if (weights[i] > 0.0) chosen.push_back(i);
  std::vector<double> made(rows.size());
  rows.each_position(chosen, [&](std::size_t position, std::span<const double> sorted) {
    made[position] = rule.combine(sorted, bad);
  });
  return made;
}

std::size_t tolerated(double tolerate, std::size_t count) {
  if (tolerate >= 1.0) return static_cast<std::size_t>(tolerate);
  constexpr double slack = 1e-9;  // 0.1 of 10 is 1
  return static_cast<std::size_t>(std::floor(tolerate * static_cast<double>(count) + slack));
}

}  // namespace furlong::federated::robust
