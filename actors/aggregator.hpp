// The aggregator actor: assigns tasks to clients, aggregates their updates, and answers the server with one partial
// aggregate per round.
#pragma once

#include "actors/interfaces.hpp"
#include "federated/protocol/aggregator_machine.hpp"

namespace furlong::actors {

/// The shell around aggregator_machine.
struct aggregator_state {
  /// An idle client, with its last block.
  struct idle_client {
    client_actor actor;
    std::shared_ptr<block> jobs;
  };

  const run_context* run = nullptr;
  server_actor parent;
  std::optional<federated::protocol::aggregator_machine> machine;
  std::size_t block_size = 1;  ///< tasks per block
  std::vector<idle_client> idle;
  federated::broadcast_ptr from;                    ///< of the current round
  std::vector<federated::task_id> ready;            ///< tasks to assign
  federated::protocol::aggregator_effects effects;  ///< of the current message; kept for its capacity
};

aggregator_actor::behavior_type aggregator_behavior(aggregator_actor::stateful_pointer<aggregator_state> self,
                                                    const run_context* run, server_actor parent, std::uint32_t number);

}  // namespace furlong::actors
