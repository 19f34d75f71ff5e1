// What a node demands of a run before it joins: `furlong join --require "participation.min_reports>=60"`.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// One term: a key of the scenario, and a value that it must have, or a number that it must reach or keep below.
struct run_term {
  enum class relation : std::uint8_t { equal, at_least, at_most };
  std::string text;  ///< as written
  std::string key;
  relation demands = relation::equal;
  std::string value;
};

/// Reads "KEY=VALUE", "KEY>=NUMBER" or "KEY<=NUMBER". Fails (kind usage) if it is none of these, or if no server tells
/// nodes such a key.
[[nodiscard]] result<run_term> read_term(const std::string& text);

/// Fails (kind usage) at the first term that a server's scenario does not keep, or whose key has no effect in it.
[[nodiscard]] result<void> check_terms(const std::vector<run_term>& terms, const scenario& offered);

}  // namespace furlong::scenarios
