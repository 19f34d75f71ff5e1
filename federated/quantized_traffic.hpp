// Where network.compression changes the numbers of a run: once on the server, before a model is broadcast, and once on
// each client, before its update leaves. Both draw from keyed streams, so that a simulation, which sends nothing,
// computes the same bits as processes that do.
//
// Error feedback. A client that keeps private values keeps beside them what rounding took from its last update, in
// tensors of the private layout named "unsent.NAME": so it is stored, covered by checkpoints, encrypted, erased and
// kept from the wire as private values are, and counts for the next update of that client, however many rounds later.
// A client that keeps nothing cannot carry errors forward: there the rounding is without
// bias, and errors cancel over the clients of a round.
#pragma once

#include <cstdint>

#include "federated/experiment.hpp"

namespace furlong::federated {

/// Whether numbers are rounded before they are sent.
[[nodiscard]] bool rounds_numbers(const run_settings& settings);
/// Whether clients carry forward what rounding took.
[[nodiscard]] bool carries_errors(const run_settings& settings);

/// Adds a private tensor for each one of an update that is rounded, to hold what was not sent of it. After the model's
/// own.
void add_unsent(models::partition& parts);

/// Rounds a version's model to what clients get. What is rounded already stays as it is. A model with numbers that
/// cannot be rounded (not finite, or beyond largest_int8_number) is left as it is: the encoder refuses it.
void round_broadcast(const experiment& e, std::uint64_t version, models::shared_parameters& model);

/// Rounds a client's change, after adding what its last update left out, and keeps in `own` what this one does. False
/// when a number cannot be rounded: then `own` is as it was, and `change` not to be used.
[[nodiscard]] bool round_update(const experiment& e, const task_id& id, models::private_parameters& own,
                                models::delta& change);

}  // namespace furlong::federated
