// Attacks of clients that know nothing of others: what a bad client does in its own task.
#pragma once

#include "federated/experiment/update.hpp"
#include "models/examples.hpp"

namespace furlong::federated {

struct experiment;

/// What a bad client of an attack that poisons data trains on; `room` holds it. For others: the examples.
[[nodiscard]] models::examples_view attacked_examples(const experiment& run, const task_id& task,
                                                      const models::examples_view& examples, models::examples& room);

/// Changes the model's part of the update of a bad client as the attack says, within the limits of the version that it
/// starts from; clip_update() is left to the client.
void attack_update(const experiment& run, const task_id& task, const update_limits& limits, models::delta& change);

/// Scales a change to what the server accepts: tensors to aggregation.max_norm, all to `longest` (longest_update()),
/// rows and all to the limits.
void fit_to_bounds(const experiment& run, const update_limits& limits, double longest, models::delta& change);

}  // namespace furlong::federated
