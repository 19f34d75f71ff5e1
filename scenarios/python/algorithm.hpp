// The algorithm of a Python class in the place of its description (federated/algorithms/python.cpp).
#pragma once

#include <memory>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "scenarios/python/problem.hpp"

namespace furlong::scenarios {

/// Lets clients train and predict by the algorithm that a problem was opened with; without one nothing changes. Fails
/// as requests of the problem do.
/// @param plans whether the times of tasks are computed: the class is asked what they cost
[[nodiscard]] result<void> use_algorithm(std::shared_ptr<const trainer_problem> problem,
                                         federated::experiment& experiment, bool plans);

/// What the algorithm, else the problem, says of each example of a client, as JSON: a list. Throws
/// models::model_failure.
/// @param task what personalize() made of it
[[nodiscard]] std::string predict(const trainer_problem& problem, federated::personal_task& task,
                                  const federated::client_kind& kind, trainer_problem::numbers asked);

}  // namespace furlong::scenarios
