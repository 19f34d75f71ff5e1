// The synchronous federated loop without actors, messages or threads: it reads like the papers, and every other engine
// must agree with it bit for bit.
//
//   for each round t
//     S = a random cohort
//     for each client k in S:   d_k = ClientWork(k, w)           (client/client_work.hpp)
//     w = ServerOptimizer(w, Aggregate({d_k}))                   (aggregation/, rounds/server_optimizer.hpp)
#pragma once

#include "federated/rounds/run_observer.hpp"

namespace furlong::federated {

/// Runs all rounds from the start and evaluates, or returns after the current round once `*stop` is true. Writes no
/// checkpoint.
[[nodiscard]] result<run_outcome> run_reference(const experiment& e, private_store& store, const run_observer& observer,
                                                const std::atomic<bool>* stop = nullptr);

}  // namespace furlong::federated
