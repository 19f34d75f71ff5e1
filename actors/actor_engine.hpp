// Runs an experiment on actors in this process: the same arithmetic as the reference loop, on all cores.
#pragma once

#include <atomic>
#include <memory>

#include "federated/experiment/experiment.hpp"
#include "federated/experiment/private_store.hpp"
#include "federated/rounds/run_observer.hpp"

namespace furlong::actors {

struct engine_options {
  std::size_t threads = 1;  ///< scheduler threads; the results do not depend on it
};

/// Continues from `start` until all rounds are done, or until `stop` becomes true: then it checkpoints after the
/// current round and returns. Blocks. Several runs may be concurrent: each has its own actor system.
[[nodiscard]] result<federated::run_outcome> run_actors(const federated::experiment& e, federated::server_state start,
                                                        federated::private_store& store,
                                                        const federated::run_observer& observer,
                                                        const std::atomic<bool>& stop, const engine_options& options);

}  // namespace furlong::actors
