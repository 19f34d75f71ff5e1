// What algorithms and aggregation rules of other libraries promise, checked when a run is opened and where they answer.
// Others that a run has: policies (participation/checked_policy.hpp), models (models::fault_of), datasets.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/aggregation/aggregate.hpp"
#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// Asks an algorithm and a rule that were registered what a run would ask first: how much work a task is, and the
/// aggregate of a few small updates. Fails (kind usage) if they cannot say, or say what cannot be. Needs the
/// participants.
[[nodiscard]] result<void> check_contracts(const experiment& setup);

/// Throws models::broken_part if the aggregate that a registered rule made is of another shape or not finite.
void check_aggregate(const experiment& setup, const aggregate& made);

/// The failure of an algorithm, or of the model that it asked, by an exception.
/// @param where "in the step of the server"; ends with the client if there is one
[[nodiscard]] error failure_of_algorithm(const experiment& setup, const char* where,
                                         std::optional<std::uint32_t> client, const std::exception& thrown);

/// Calls what an algorithm does. Its exceptions become models::broken_part.
template <class Call>
decltype(auto) ask_algorithm(const experiment& setup, const char* where, std::optional<std::uint32_t> client,
                             const Call& call) {
  try {
    return call();
  } catch (const models::model_failure&) {
    throw;
  } catch (const std::exception& thrown) {
    throw models::broken_part(failure_of_algorithm(setup, where, client, thrown));
  }
}

/// The same for an aggregation rule.
/// @param where "in encode()"
[[nodiscard]] error failure_of_rule(const std::string& kind, const char* where, const std::exception& thrown);

/// Calls what a rule does. Its exceptions become models::broken_part.
template <class Call>
decltype(auto) ask_rule(const std::string& kind, const char* where, const Call& call) {
  try {
    return call();
  } catch (const std::exception& thrown) {
    throw models::broken_part(failure_of_rule(kind, where, thrown));
  }
}

}  // namespace furlong::federated
