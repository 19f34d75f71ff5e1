// The laws of parts of other libraries: what a run relies on, and neither the checks at registration nor those of a run
// can see, because a run sees each answer once. Each function examines one part in a small experiment, on the calling
// thread and some of its own, in seconds.
#pragma once

#include <functional>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/settings/algorithm_traits.hpp"
#include "scenarios/data/dataset.hpp"
#include "tools/conformance/findings.hpp"

namespace furlong::tools::conformance {

/// The algorithm of the experiment, which has participants with training examples.
/// @param rebuilt the same algorithm with the same options, built once more: that of a resumed run
[[nodiscard]] findings check_algorithm(const federated::experiment& setup, const federated::chosen_algorithm& rebuilt);

/// The aggregation rule of the experiment, on drawn updates of its shared tensors.
[[nodiscard]] findings check_rule(const federated::experiment& setup);

/// The selection policy of the experiment, over drawn rounds.
[[nodiscard]] findings check_policy(const federated::experiment& setup);

/// The model of availability of the experiment, which has virtual time, at drawn moments.
/// @param rebuilt the same experiment, built once more: that of a resumed run
[[nodiscard]] findings check_availability(const federated::experiment& setup, const federated::experiment& rebuilt);

/// The model of the experiment, on the examples of one client.
[[nodiscard]] findings check_model(const federated::experiment& setup);

/// A dataset.
/// @param load builds it, each time anew
[[nodiscard]] findings check_dataset(const std::function<result<scenarios::dataset>()>& load);

}  // namespace furlong::tools::conformance
