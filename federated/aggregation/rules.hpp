// The registered aggregation rules. A new rule is one file with a factory, one line here and one in rules.cpp.
#pragma once

#include <memory>
#include <vector>

#include "federated/aggregation/accumulator.hpp"

namespace furlong::federated {

/// sum_k n_k d_k / sum_k n_k, n_k the examples processed (FedAvg; McMahan et al. 2017), or with every n_k = 1.
[[nodiscard]] std::unique_ptr<accumulator> make_mean(const aggregation_settings&, const models::layout_ptr& shared,
                                                     const std::vector<double>& reference);
/// eps * sum_k alpha_k d_k per tensor, alpha = softmax of the distances (FedAtt; Ji et al. 2019, eqs. 2-4).
[[nodiscard]] std::unique_ptr<accumulator> make_fedatt(const aggregation_settings&, const models::layout_ptr& shared,
                                                       const std::vector<double>& reference);
/// One constant per tensor, for the first round.
[[nodiscard]] std::vector<double> first_fedatt_reference(const aggregation_settings& settings,
                                                         const models::layout& shared);

}  // namespace furlong::federated
