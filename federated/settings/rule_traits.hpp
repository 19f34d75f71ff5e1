// What the rest of the project must know about an aggregation rule, as plain data; and the selected rule of a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/options.hpp"

namespace furlong::federated {

struct rule_traits {
  bool weighs_examples = false;  ///< updates are weighted by examples: aggregation.max_weight bounds them
  bool counts_alike = false;     ///< updates have equal weight, as sums under masks need it
  /// How far one update of norm c among n moves the aggregate at most, in c / n: 1 of a mean, B of a median of the
  /// means of B buckets. privacy.noise is sized by it. 0: not known, and there is no such noise.
  double sensitivity = 0.0;
  bool takes_all = false;          ///< encode() refuses no update that validate() accepted
  bool measures_distance = false;  ///< weighs updates by how far they moved each tensor
  /// Needs single updates: they are held until the round closes, and report() computes from aggregate::updates. For
  /// synchronous runs in one process, whose sums hide nobody.
  bool holds_updates = false;
  /// Leaves out, clips or mixes updates: not for algorithms whose server values are sums of what clients keep.
  bool robust = false;
  std::uint64_t most_updates = 1U << 20;  ///< capacity of its words for one round
};

/// The rule of a run, with the values of its own keys, algorithm.aggregation.NAME.
struct chosen_rule {
  /// The first rule of the table.
  chosen_rule();
  /// @param given values of the rule's options; those that are missing have their fallbacks
  /// Throws std::invalid_argument when no such rule is registered.
  explicit chosen_rule(std::string_view kind, const option_values& given = {});

  std::string kind;
  rule_traits traits;
  option_values options;
};

}  // namespace furlong::federated
