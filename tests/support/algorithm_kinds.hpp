// The algorithms that tests go through.
#pragma once

#include <string>
#include <vector>

#include "federated/experiment/algorithm.hpp"

namespace furlong::tests {

/// All registered algorithms that learn from ratings, but aliases and those that are written elsewhere.
[[nodiscard]] inline std::vector<std::string> algorithm_kinds() {
  std::vector<std::string> kinds;
  for (const auto& entry : federated::registered_algorithms())
    if (entry.alias_of.empty() && !entry.traits_of && !entry.traits.implicit) kinds.push_back(entry.kind);
  return kinds;
}

}  // namespace furlong::tests
