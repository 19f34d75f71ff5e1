#include "federated/engine/virtual_run.hpp"

#include "federated/settings/running.hpp"
#include "federated/simulation/network/simulated_run.hpp"
#include "federated/simulation/timeline.hpp"

namespace furlong::federated {

std::unique_ptr<virtual_run> make_virtual_run(const experiment& e, server_state start, private_store& store,
                                              const run_observer& observer, add_mode mode) {
  if (e.settings.topology->nodes > 0)
    return std::make_unique<network::simulated_run>(e, std::move(start), store, observer);
  return std::make_unique<timeline>(e, std::move(start), store, observer, mode);
}

}  // namespace furlong::federated
