// The aggregator actor: has its clients work, folds their updates, answers the server with one partial aggregate a
// round.
#pragma once

#include "actors/interfaces.hpp"
#include "federated/protocol/aggregator_machine.hpp"

namespace furlong::actors {

/// The shell round aggregator_machine.
struct aggregator_state {
  /// A client that waits, with the block that it last worked on.
  struct idle_client {
    client_actor actor;
    std::shared_ptr<block> jobs;
  };

  const run_context* run = nullptr;
  server_actor parent;
  std::optional<federated::protocol::aggregator_machine> machine;
  std::size_t block_size = 1;  ///< tasks that a client is given at once
  std::vector<idle_client> idle;
  federated::broadcast_ptr from;                    ///< of the round under way
  std::vector<federated::task_id> ready;            ///< tasks to hand out
  federated::protocol::aggregator_effects effects;  ///< of the message at hand; kept for its capacity
};

aggregator_actor::behavior_type aggregator_behavior(aggregator_actor::stateful_pointer<aggregator_state> self,
                                                    const run_context* run, server_actor parent, std::uint32_t number);

}  // namespace furlong::actors
