// The built-in algorithms: one function and one line of the table each.
#pragma once

#include "federated/algorithm.hpp"

namespace furlong::federated {

[[nodiscard]] algorithm_entry fedavg_entry();
[[nodiscard]] algorithm_entry fedatt_entry();
[[nodiscard]] algorithm_entry fedsgd_entry();
[[nodiscard]] algorithm_entry furl_entry();
[[nodiscard]] algorithm_entry fedrecon_entry();
[[nodiscard]] algorithm_entry scaffold_entry();
[[nodiscard]] algorithm_entry feddyn_entry();
[[nodiscard]] algorithm_entry centralized_entry();

/// The build function of an algorithm without options.
template <class Algorithm>
[[nodiscard]] result<std::shared_ptr<const algorithm>> build_as(const option_values&) {
  return std::make_shared<const Algorithm>();
}

}  // namespace furlong::federated
