// Majority vote of signs, an aggregation rule that Furlong does not have.
#pragma once

#include "federated/aggregation/rule.hpp"

namespace sign_majority {

/// What scenarios call `rule = "sign-majority"`. Give it to furlong::federated::register_rule.
[[nodiscard]] furlong::federated::rule_entry entry();

}  // namespace sign_majority
