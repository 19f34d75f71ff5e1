// Keys that have an effect only where another key, or the algorithm, says so: one table for the notes of `validate` and
// for the reference.
#pragma once

#include <string>
#include <vector>

#include "federated/algorithm.hpp"

namespace furlong::scenarios {

/// What keys depend on: that another key has one of some words, or is above zero; or a trait of the algorithm.
struct condition {
  std::string key = {};                                ///< empty: the trait
  std::vector<std::string> words = {};                 ///< empty: a number above zero
  bool federated::algorithm_traits::*trait = nullptr;  ///< must be true
  std::string otherwise = {};                          ///< what is said of an algorithm without the trait
};

struct dependency {
  std::vector<std::string> keys;
  condition applies_when;
};

/// In the order in which they are looked at: the first that does not hold is the reason.
[[nodiscard]] const std::vector<dependency>& dependencies();

}  // namespace furlong::scenarios
