// The client actor: runs the tasks of one client after another. A run has as many as tasks run at once, independent of
// the cohort and the population; they are reused, because ending an actor wakes CAF's clock thread, which costs as much
// as a small client's training.
#pragma once

#include "actors/interfaces.hpp"
#include "federated/protocol/client_machine.hpp"

namespace furlong::actors {

/// The shell around client_machine: performs its effects on the scheduler's thread, and reports once.
class client_state {
 public:
  const run_context* run = nullptr;
  aggregator_actor parent;

  /// Runs one task; the outcome is in `what`.
  void perform(const federated::broadcast& from, job& what) const;

 private:
  void run_session(const federated::broadcast& from, job& what) const;
};

client_actor::behavior_type client_behavior(client_actor::stateful_pointer<client_state> self, const run_context* run,
                                            aggregator_actor parent);

}  // namespace furlong::actors
