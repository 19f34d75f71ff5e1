// The slot of rules that compare the updates of one version: a rule is one source file and one line of the table in
// table.cpp. Each is a rule of aggregation that holds single updates (cohort_rule.hpp), and one for the means of
// buckets (buckets.cpp).
//
// Notation: n updates, of which f may be bad. Results depend on the set of updates: equal distances and scores are
// taken in the order of clients, equal distances of numbers in that of the numbers.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/options.hpp"
#include "federated/aggregation/robust/cohort.hpp"

namespace furlong::federated::robust {

/// Two steps, each of which may be missing: weigh the rows, then combine the values of those with a weight.
struct robust_rule {
  std::string kind;
  std::string doc;
  std::vector<option_spec> options = {};  ///< keys algorithm.aggregation.NAME
  /// The least n for this f. Null: 2 f + 1.
  std::size_t (*fewest)(std::size_t bad) = nullptr;
  /// The weight of each row. Null: all rows count.
  std::vector<double> (*weigh)(const cohort& rows, std::size_t bad, const option_values& options) = nullptr;
  /// One value from those of the rows with a weight above 0, the lowest first. Null: the sum of rows by weight.
  double (*combine)(std::span<const double> sorted, std::size_t bad) = nullptr;
};

/// All rules.
[[nodiscard]] const std::vector<robust_rule>& robust_rules();
/// The rule of a kind that there is.
[[nodiscard]] const robust_rule& find_robust_rule(std::string_view kind);

/// The least number of updates of which `bad` may be.
[[nodiscard]] std::size_t fewest_updates(const robust_rule& rule, std::size_t bad);
/// The aggregate of the rows.
/// @param rows at least fewest_updates() of them
/// @param options values of the rule's
[[nodiscard]] std::vector<double> aggregate_rows(const robust_rule& rule, const cohort& rows, std::size_t bad,
                                                 const option_values& options);

/// The number of bad ones among n by algorithm.aggregation.tolerate: a share below 1, rounded down, or a number.
[[nodiscard]] std::size_t tolerated(double tolerate, std::size_t count);

}  // namespace furlong::federated::robust
