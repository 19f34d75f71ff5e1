// The client actor: it is one client after the other, each while it works on that client's task. A run has as many as
// clients work at once, whatever the size of the cohort or of the population; between tasks they wait. (Ending an actor
// wakes CAF's clock thread, which costs as much as a small client's training.)
#pragma once

#include "actors/interfaces.hpp"
#include "federated/protocol/client_machine.hpp"

namespace furlong::actors {

/// The shell round client_machine: does what the machine says, on the scheduler's thread, and reports once.
class client_state {
 public:
  const run_context* run = nullptr;
  aggregator_actor parent;

  /// Works one task through; the outcome is in `what`.
  void perform(const federated::broadcast& from, job& what) const;

 private:
  void run_session(const federated::broadcast& from, job& what) const;
};

client_actor::behavior_type client_behavior(client_actor::stateful_pointer<client_state> self, const run_context* run,
                                            aggregator_actor parent);

}  // namespace furlong::actors
