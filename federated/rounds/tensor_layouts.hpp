// The layouts of a run: the tensors of the model, and those that the algorithm adds.
#pragma once

#include <span>
#include <string>

#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// Sets `parts` and `groups`: which tensors of the model are private, and the layouts of the tensors that the algorithm
/// adds. Needs `settings` and `model`. Fails, with the name, if names or groups are invalid.
[[nodiscard]] result<void> lay_out(experiment& e, std::span<const std::string> private_names);

/// The server's added tensors before the first round; without any, an empty layout.
[[nodiscard]] models::shared_parameters initial_added(const experiment& e, const models::shared_parameters& model);

}  // namespace furlong::federated
