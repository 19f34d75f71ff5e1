// The timeline actor: runs a federation in virtual time, with training on all scheduler threads.
#pragma once

#include "actors/run_driver.hpp"

namespace furlong::actors {

/// The shell around federated::timeline: distributes its jobs, calls the observer.
struct timeline_state : run_driver {
  /// An idle trainer, with its last block.
  struct idle_trainer {
    trainer_actor actor;
    std::shared_ptr<std::vector<federated::training_job>> jobs;
  };
  std::optional<federated::timeline> line;
  std::vector<idle_trainer> idle;
  std::size_t trainers = 0;
  std::size_t block_size = 1;
};

timeline_actor::behavior_type timeline_behavior(timeline_actor::stateful_pointer<timeline_state> self,
                                                const run_context* run,
                                                std::shared_ptr<federated::protocol::server_state> start);

/// Runs the jobs that it receives.
trainer_actor::behavior_type trainer_behavior(trainer_actor::pointer self, const run_context* run,
                                              timeline_actor parent);

}  // namespace furlong::actors
