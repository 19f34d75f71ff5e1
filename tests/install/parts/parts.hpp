// Parts that Furlong does not have, each for the function of its kind: furlong::federated::register_algorithm,
// register_rule, register_policy.
#pragma once

#include "federated/aggregation/rule.hpp"
#include "federated/algorithm.hpp"
#include "federated/participation/policy.hpp"

namespace parts {

[[nodiscard]] furlong::federated::algorithm_entry fednova_entry();
[[nodiscard]] furlong::federated::algorithm_entry per_fedavg_entry();
[[nodiscard]] furlong::federated::algorithm_entry ifca_entry();
[[nodiscard]] furlong::federated::rule_entry sign_majority_entry();
[[nodiscard]] furlong::federated::policy_entry oort_entry();

}  // namespace parts
