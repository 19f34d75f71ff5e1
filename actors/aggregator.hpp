// The aggregator actor: spawns its clients, folds their updates, answers the server with one partial aggregate a round.
#pragma once

#include "actors/interfaces.hpp"
#include "federated/protocol/aggregator_machine.hpp"

namespace furlong::actors {

/// The shell round aggregator_machine.
struct aggregator_state {
  const run_context* run = nullptr;
  server_actor parent;
  std::optional<federated::protocol::aggregator_machine> machine;
  std::vector<client_actor> idle;                   ///< clients that wait for a task
  federated::protocol::aggregator_effects effects;  ///< of the message at hand; kept for its capacity
};

aggregator_actor::behavior_type aggregator_behavior(aggregator_actor::stateful_pointer<aggregator_state> self,
                                                    const run_context* run, server_actor parent, std::uint32_t number);

}  // namespace furlong::actors
