// The server actor: drives the rounds of a run.
#pragma once

#include <chrono>

#include "actors/interfaces.hpp"

namespace furlong::actors {

/// The shell round server_machine: sends its messages, calls the observer, keeps the stopwatches.
struct server_state {
  using clock = std::chrono::steady_clock;

  const run_context* run = nullptr;
  std::optional<federated::protocol::server_machine> machine;
  std::vector<aggregator_actor> aggregators;
  std::vector<evaluator_actor> evaluators;
  caf::typed_response_promise<run_result> promise;

  std::shared_ptr<evaluation_work> evaluation;
  std::size_t evaluators_pending = 0;
  federated::evaluation_report last_evaluation;

  double wall_before = 0.0;  ///< of earlier lives
  double cpu_before = 0.0;
  double train_seconds = 0.0;
  double train_cpu_seconds = 0.0;
  double round_cpu_begun = 0.0;
  clock::time_point begun;
  clock::time_point round_begun;
};

server_actor::behavior_type server_behavior(server_actor::stateful_pointer<server_state> self, const run_context* run,
                                            std::shared_ptr<federated::protocol::server_state> start);

}  // namespace furlong::actors
