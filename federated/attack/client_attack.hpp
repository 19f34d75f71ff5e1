// Attacks of clients that know nothing of others: what a bad client does in its own task.
#pragma once

#include <vector>

#include "federated/experiment/update.hpp"
#include "models/examples.hpp"

namespace furlong::federated {

struct experiment;

/// label_flip: the examples with mirrored labels, which `room` holds: 1 - y, C - 1 - y of C classes, or of ratings y
/// the lowest and the highest of the client's labels less y. For other clients and attacks: the examples.
[[nodiscard]] models::examples_view attacked_examples(const experiment& run, const task_id& task,
                                                      const models::examples_view& examples, std::vector<float>& room);

/// sign_flip and gaussian: changes the model's part of the update of a bad client, within the limits of the version
/// that it starts from; clip_update() is left to the client. Draws are keyed by (seed, version, client).
void attack_update(const experiment& run, const task_id& task, const update_limits& limits, models::delta& change);

/// Scales a change to what the server accepts: tensors to aggregation.max_norm, all to `longest` (longest_update()),
/// rows and all to the limits.
void fit_to_bounds(const experiment& run, const update_limits& limits, double longest, models::delta& change);

}  // namespace furlong::federated
