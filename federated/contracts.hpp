// What algorithms and aggregation rules of other libraries promise, checked when a run is opened and where they answer.
// Others that a run has: policies (participation/checked_policy.hpp), models (models::fault_of), datasets.
#pragma once

#include <exception>
#include <string>

#include "base/result.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment.hpp"

namespace furlong::federated {

/// Asks an algorithm and a rule that were registered what a run would ask first: how much work a task is, and the
/// aggregate of a few small updates. Fails (kind usage) if they cannot say, or say what cannot be. Needs the
/// participants.
[[nodiscard]] result<void> check_contracts(const experiment& e);

/// Throws models::model_failure if the aggregate that a registered rule made is of another shape or not finite.
void check_aggregate(const experiment& e, const aggregate& of);

/// The failure of an algorithm, or of the model that it asked, by an exception. @param where "in the step of the
/// server"
[[nodiscard]] error failure_of_algorithm(const experiment& e, const std::string& where, const std::exception& thrown);

}  // namespace furlong::federated
