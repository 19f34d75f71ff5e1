// What a client made of a task, and how two of them differ.
#pragma once

#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <span>
#include <string>

#include "federated/experiment/update.hpp"
#include "models/parameters.hpp"

namespace furlong::tools::conformance {

/// The first value that differs in a bit; empty: none does.
[[nodiscard]] inline std::string difference(std::span<const float> first, std::span<const float> second,
                                            const char* subject) {
  if (first.size() != second.size())
    return fmt::format("has {} values of {}, and then {}", first.size(), subject, second.size());
  for (std::size_t i = 0; i < first.size(); ++i)
    if (std::memcmp(&first[i], &second[i], sizeof(float)) != 0)
      return fmt::format("value {} of {} is {}, and then {}", i, subject, first[i], second[i]);
  return {};
}

/// What a client makes of a task.
struct task_result {
  federated::client_update update;
  bool keeps = false;
  models::private_parameters own = {};  ///< if it keeps them
};

/// What differs of two results of one task; empty: nothing does.
[[nodiscard]] inline std::string difference(const task_result& first, const task_result& second) {
  const auto& [update, keeps, own] = first;
  const auto& repeated = second.update;
  if (update.weight != repeated.weight || update.examples != repeated.examples)
    return fmt::format("its update counts {} examples of weight {}, and then {} of weight {}", update.examples,
                       update.weight, repeated.examples, repeated.weight);
  if (update.loss_sum != repeated.loss_sum && !(std::isnan(update.loss_sum) && std::isnan(repeated.loss_sum)))
    return fmt::format("its loss is {}, and then {}", update.loss_sum, repeated.loss_sum);
  if (update.change.rows != repeated.change.rows) return "its update lists other rows";
  if (auto values = difference(update.change.values, repeated.change.values, "its update"); !values.empty())
    return values;
  if (keeps != second.keeps) return "it keeps private values, and then none, or the other way round";
  return difference(own.values(), second.own.values(), "what it keeps");
}

}  // namespace furlong::tools::conformance
