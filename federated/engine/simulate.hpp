// A whole run in virtual time on the calling thread: the yardstick of every other way of running one.
#pragma once

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::federated {

/// Goes on from `start` until the run is over, or until `stop` becomes true: then it checkpoints after the round under
/// way and returns. Same results as any number of threads gives.
[[nodiscard]] result<run_outcome> simulate(const experiment& e, server_state start, private_store& store,
                                           const run_observer& observer, const std::atomic<bool>& stop);

}  // namespace furlong::federated
