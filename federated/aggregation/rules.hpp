// The built-in aggregation rules: one function and one line of the table each.
#pragma once

#include "federated/aggregation/rule.hpp"

namespace furlong::federated {

[[nodiscard]] rule_entry mean_entry();
[[nodiscard]] rule_entry uniform_mean_entry();
[[nodiscard]] rule_entry attention_entry();
[[nodiscard]] rule_entry centred_clipping_entry();
[[nodiscard]] rule_entry fltrust_entry();
[[nodiscard]] rule_entry arc_entry();
[[nodiscard]] rule_entry buckets_entry();

}  // namespace furlong::federated
