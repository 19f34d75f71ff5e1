// The updates of the tests of robust rules, whose results are known from other programs, and how rules are asked.
#pragma once

#include <boost/test/unit_test.hpp>
#include <cmath>
#include <string>
#include <vector>

#include "federated/aggregation/accumulator.hpp"
#include "federated/aggregation/robust/pipeline.hpp"
#include "federated/settings/aggregation.hpp"
#include "tests/support/updates.hpp"

namespace furlong::tests {

using matrix = std::vector<std::vector<float>>;
using option_changes = std::vector<std::pair<std::string, option_value>>;

/// Seven honest updates and two bad ones. All values are exact in binary; the honest mean is (1, 0.5, -0.25, 1.875).
[[nodiscard]] inline matrix nine_updates() {
  return {{1.0F, 0.5F, -0.25F, 2.0F},     {0.75F, 0.625F, -0.5F, 1.75F}, {1.25F, 0.25F, 0.0F, 2.25F},
          {0.5F, 1.0F, -0.75F, 1.5F},     {1.5F, 0.0F, 0.25F, 2.5F},     {1.125F, 0.375F, -0.125F, 2.125F},
          {0.875F, 0.75F, -0.375F, 1.0F}, {-10.0F, 8.0F, 6.0F, -4.0F},   {3.0F, -3.0F, 3.0F, -3.0F}};
}
/// Those of the tests of byzfl.
[[nodiscard]] inline matrix three_updates() { return {{1.0F, 2.0F, 3.0F}, {4.0F, 5.0F, 6.0F}, {7.0F, 8.0F, 9.0F}}; }

/// The rule in double.
[[nodiscard]] inline std::vector<double> robust_of(const std::string& kind, const matrix& updates, double bad,
                                                   const std::vector<std::string>& before = {},
                                                   const option_changes& changes = {}) {
  using namespace federated::robust;
  const auto& rule = find_robust_rule(kind);
  auto options = defaults(pipeline_options());
  for (const auto& option : rule.options) options.set(option.name, *option.fallback);
  options.set("tolerate", bad);
  options.set("before", before);
  for (const auto& [name, value] : changes) options.set(name, value);
  const pipeline steps(rule, options);
  auto made = steps.aggregate({updates.begin(), updates.end()}, steps.bad_among(updates.size()));
  return made ? *made : std::vector<double>{};
}

/// Settings of a rule of the table.
[[nodiscard]] inline federated::aggregation_settings settings_of(const std::string& kind,
                                                                 const option_changes& changes = {}) {
  federated::aggregation_settings settings;
  settings.rule = federated::chosen_rule(kind);
  for (const auto& [name, value] : changes) settings.rule.options.set(name, value);
  return settings;
}

[[nodiscard]] inline models::layout_ptr one_tensor(std::size_t values) {
  return std::make_shared<models::layout>(
      std::vector<models::tensor_spec>{{"value", 1, static_cast<std::uint32_t>(values)}});
}

/// Each row as an update of the client of its number.
[[nodiscard]] inline std::vector<federated::client_update> updates_of(const matrix& rows,
                                                                      const models::layout_ptr& shape) {
  std::vector<federated::client_update> updates;
  for (const auto& row : rows) {
    updates.push_back(dense_update({4711, 0, static_cast<std::uint32_t>(updates.size()), 0}, shape));
    updates.back().change.values = row;
  }
  return updates;
}

inline void check_near(std::span<const double> made, const std::vector<double>& expected, double tolerance) {
  BOOST_REQUIRE(made.size() == expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i)
    BOOST_TEST(std::abs(made[i] - expected[i]) <= tolerance, made[i] << " is not " << expected[i] << " at " << i);
}
inline void check_near(std::span<const float> made, const std::vector<double>& expected, double tolerance) {
  check_near(std::vector<double>(made.begin(), made.end()), expected, tolerance);
}

}  // namespace furlong::tests
