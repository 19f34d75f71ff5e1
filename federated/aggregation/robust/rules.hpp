// The rules of the table, one function each.
#pragma once

#include "federated/aggregation/robust/robust_rule.hpp"

namespace furlong::federated::robust {

[[nodiscard]] robust_rule median();
[[nodiscard]] robust_rule trimmed_mean();
[[nodiscard]] robust_rule meamed();
[[nodiscard]] robust_rule geometric_median();
[[nodiscard]] robust_rule krum();
[[nodiscard]] robust_rule multi_krum();
[[nodiscard]] robust_rule bulyan();

}  // namespace furlong::federated::robust
