// What the rest of the project must know of a selection policy, as plain data; and the policy that a run has chosen.
#pragma once

#include <string>
#include <string_view>

#include "base/options.hpp"

namespace furlong::federated {

struct policy_traits {
  bool needs_examples = false;    ///< selects clients by how many training examples they have
  bool draws_candidates = false;  ///< participation.candidates has an effect
  /// The policy draws how many clients take part, by participation.rate and at most participation.cap; per_round has no
  /// effect. Synchronous rounds only.
  bool draws_cohort = false;
  bool draws_alike = false;  ///< all cohorts of one size are equally likely, whatever happened before
  bool sees_losses = false;  ///< selects clients by the losses that they reported
};

/// The policy of a run, with the values of its own keys, participation.NAME.
struct chosen_policy {
  /// The first of the table.
  chosen_policy();
  /// @param given values of the policy's options; those that are missing have their fallbacks
  /// Throws std::invalid_argument when no such policy is registered.
  explicit chosen_policy(std::string_view kind, const option_values& given = {});

  std::string kind;
  policy_traits traits;
  option_values options;
};

}  // namespace furlong::federated
