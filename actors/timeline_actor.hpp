// The timeline actor: runs a federation in virtual time, its training on all of the scheduler's threads.
#pragma once

#include "actors/run_driver.hpp"

namespace furlong::actors {

/// The shell round federated::virtual_run: hands out its jobs, calls the observer.
struct timeline_state : run_driver {
  /// A trainer that waits, with the block that it last worked on.
  struct idle_trainer {
    trainer_actor actor;
    std::shared_ptr<std::vector<federated::training_job>> jobs;
  };
  std::unique_ptr<federated::virtual_run> line;
  std::vector<idle_trainer> idle;
  std::size_t trainers = 0;
  std::size_t block_size = 1;
};

timeline_actor::behavior_type timeline_behavior(timeline_actor::stateful_pointer<timeline_state> self,
                                                const run_context* run,
                                                std::shared_ptr<federated::protocol::server_state> start);

/// Does whatever jobs it is sent.
trainer_actor::behavior_type trainer_behavior(trainer_actor::pointer self, const run_context* run,
                                              timeline_actor parent);

}  // namespace furlong::actors
