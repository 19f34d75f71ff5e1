// The part of fit() about clients' updates.
#pragma once

#include <memory>

#include "scenarios/schema/scenario.hpp"

namespace furlong::scenarios {

/// Checks the tensors that the algorithm adds, settles aggregation.max_weight, and notes how large an update is.
[[nodiscard]] result<void> check_update(scenario& run, std::shared_ptr<const models::model> model, const dataset& data);

}  // namespace furlong::scenarios
