// A robust rule with the steps before it and the number of bad updates, as a scenario sets them.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/options.hpp"
#include "federated/aggregation/robust/before.hpp"
#include "federated/aggregation/robust/robust_rule.hpp"

namespace furlong::federated {
class scenario_view;
}

namespace furlong::federated::robust {

/// The keys of algorithm.aggregation that it reads: tolerate, before and clip.
[[nodiscard]] std::vector<option_spec> pipeline_options();
/// Reports steps that there are not, values that no share or number is, and rounds of too few updates.
/// @param rule of the scenario; null: its own checks are made elsewhere
void check_pipeline(scenario_view& scenario, const robust_rule* rule);

class pipeline {
 public:
  /// @param rule of the table
  /// @param options with the values of pipeline_options() and of the rule's options
  pipeline(const robust_rule& rule, option_values options);

  [[nodiscard]] const robust_rule& rule() const { return *rule_; }
  /// How many of so many updates may be bad.
  [[nodiscard]] std::size_t bad_among(std::size_t count) const { return tolerated(tolerate_, count); }
  /// The aggregate of the rows, of which `bad` may be bad. Nothing: too few rows for that.
  [[nodiscard]] std::optional<std::vector<double>> aggregate(std::vector<std::span<const float>> rows,
                                                             std::size_t bad) const;

 private:
  const robust_rule* rule_;
  option_values options_;
  double tolerate_;
  std::vector<const before_step*> before_;
};

}  // namespace furlong::federated::robust
