// Parts that Furlong does not have, each for the function of its kind: furlong::federated::register_algorithm,
// register_rule, register_policy, register_availability, furlong::models::register_model.
#pragma once

#include "federated/aggregation/rule.hpp"
#include "federated/experiment/algorithm.hpp"
#include "federated/participation/policy.hpp"
#include "federated/world/availability.hpp"
#include "models/model.hpp"

namespace parts {

/// A key of at least 0, and one of whole numbers of at least 1.
inline furlong::option_spec number(std::string name, double fallback, std::string doc) {
  return {.name = std::move(name),
          .type = furlong::option_type::number,
          .fallback = fallback,
          .doc = std::move(doc),
          .at_least = 0};
}
inline furlong::option_spec whole_number(std::string name, std::int64_t fallback, std::string doc) {
  return {.name = std::move(name),
          .type = furlong::option_type::integer,
          .fallback = fallback,
          .doc = std::move(doc),
          .at_least = 1};
}
/// The class of an example.
inline std::size_t class_of(const furlong::models::examples_view& batch, std::size_t example) {
  return static_cast<std::size_t>(batch.labels[example]);
}
/// Of an algorithm that is constructed from its options.
template <class Algorithm>
furlong::result<std::shared_ptr<const furlong::federated::algorithm>> build(const furlong::option_values& options) {
  return std::make_shared<const Algorithm>(options);
}

[[nodiscard]] furlong::federated::algorithm_entry fednova_entry();
[[nodiscard]] furlong::federated::algorithm_entry per_fedavg_entry();
[[nodiscard]] furlong::federated::algorithm_entry ifca_entry();
[[nodiscard]] furlong::federated::algorithm_entry fedproto_entry();
[[nodiscard]] furlong::federated::rule_entry sign_majority_entry();
[[nodiscard]] furlong::federated::rule_entry median_of_means_entry();
[[nodiscard]] furlong::models::model_entry perceptron_entry();
[[nodiscard]] furlong::federated::policy_entry oort_entry();
[[nodiscard]] furlong::federated::availability_entry shifts_entry();

}  // namespace parts
