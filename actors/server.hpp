// The server actor: drives the rounds of a run under the real clock.
#pragma once

#include "actors/effect_queue.hpp"
#include "actors/run_driver.hpp"

namespace furlong::actors {

/// The shell around server_machine: sends its messages, calls the observer.
struct server_state : run_driver {
  std::optional<federated::protocol::server_machine> machine;
  std::vector<aggregator_actor> aggregators;
  effect_queue effects;
};

server_actor::behavior_type server_behavior(server_actor::stateful_pointer<server_state> self, const run_context* run,
                                            std::shared_ptr<federated::protocol::server_state> start);

}  // namespace furlong::actors
