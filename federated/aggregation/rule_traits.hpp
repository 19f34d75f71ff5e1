// What the rest of the project must know of an aggregation rule, as plain data; and the rule that a run has chosen.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/options.hpp"

namespace furlong::federated {

struct rule_traits {
  bool weighs_examples = false;           ///< an update counts for its examples: aggregation.max_weight bounds them
  bool counts_alike = false;              ///< the sum of the updates, each once: privacy.noise can hide one of them
  bool measures_distance = false;         ///< weighs updates by how far they moved each tensor
  std::uint64_t most_updates = 1U << 20;  ///< of one round that its words can hold
};

/// The rule of a run, with the values of its own keys, algorithm.aggregation.NAME.
struct chosen_rule {
  /// The first of the table.
  chosen_rule();
  /// @param given values of the rule's options; those that are missing have their fallbacks
  /// Throws std::invalid_argument when no such rule is registered.
  explicit chosen_rule(std::string_view kind, const option_values& given = {});

  std::string kind;
  rule_traits traits;
  option_values options;
};

}  // namespace furlong::federated
