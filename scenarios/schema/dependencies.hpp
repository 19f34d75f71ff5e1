// Keys that have an effect only with certain values of another key or traits of the algorithm: the source of notes of
// `validate` and of the reference.
#pragma once

#include <string>
#include <vector>

#include "federated/experiment/algorithm.hpp"

namespace furlong::scenarios {

/// A dependency: another key has one of some values, or is above zero; or the algorithm has a trait.
struct condition {
  std::string key = {};                                ///< empty: the trait
  std::vector<std::string> words = {};                 ///< empty: a number above zero
  bool federated::algorithm_traits::*trait = nullptr;  ///< must be true
  std::string otherwise = {};                          ///< text about algorithms without the trait
};

struct dependency {
  std::vector<std::string> keys;
  condition applies_when;
};

/// In order of evaluation: the first unmet dependency is the reason.
[[nodiscard]] const std::vector<dependency>& dependencies();

}  // namespace furlong::scenarios
