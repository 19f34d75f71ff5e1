// Quantization of a run (network.compression): on the server before a model is broadcast, on each client before its
// update is sent. Both use keyed random streams, so a simulation, which sends nothing, computes the same bits as
// processes that do.
//
// Error feedback: a client that keeps private values also keeps the rounding error of its last update, in tensors of
// the private layout named "unsent.NAME". They are stored, checkpointed, encrypted and erased like private values and
// never sent; the client adds them to its next update, in whatever round. A client that keeps nothing cannot carry
// errors forward: its rounding is unbiased, and errors average out over the clients of a round.
#pragma once

#include <cstdint>

#include "federated/experiment/experiment.hpp"

namespace furlong::federated {

/// True if numbers are rounded before they are sent.
[[nodiscard]] bool rounds_numbers(const run_settings& settings);
/// True if clients carry rounding errors forward.
[[nodiscard]] bool carries_errors(const run_settings& settings);

/// Adds a private tensor for the rounding error of each rounded tensor of an update, after the model's own.
void add_unsent(models::partition& parts);

/// Rounds a version's model as clients receive it. Idempotent. A model with numbers that cannot be rounded (not finite,
/// or beyond largest_int8_number) is unchanged: the encoder refuses it.
void round_broadcast(const experiment& e, std::uint64_t version, models::shared_parameters& model);

/// What a client sends of its delta: with norm_bound = "clip", clipped to the limits of its start version; rounded,
/// after adding the error of its last update, and the new error is stored in `own`. False if a number cannot be
/// rounded: `own` is then unchanged, and `change` must not be used.
[[nodiscard]] bool round_update(const experiment& e, const task_id& id, const update_limits& limits,
                                models::private_parameters& own, models::delta& change);

}  // namespace furlong::federated
