// What the coordinator does with the effects of its machines, and with evaluations.
#pragma once

#include "actors/federation/coordinator.hpp"

namespace furlong::actors::federation::coordination {

using self_pointer = coordinator_actor::stateful_pointer<coordinator_state>;

/// The run's clock.
[[nodiscard]] inline federated::virtual_time now(self_pointer self) { return steady_now() - self->state.began; }

/// Tells all branches and delivers the outcome. `final`: nobody shall come back for another start of the server.
void end_run(self_pointer self, result<federated::run_outcome> outcome, bool final);
void fail_run(self_pointer self, error why);
/// Goes on with the end of a run that is over.
void say_farewells(self_pointer self);
/// To a branch; one that is gone hears nothing.
void send_down(self_pointer self, std::uint32_t to, downward what);
void perform_all(self_pointer self, protocol::server_effects effects);
void save_checkpoint(self_pointer self);
/// Asks for scores. Returns of how many clients.
std::size_t send_requests(self_pointer self, protocol::scoring_machine::requests by_branch);
/// Ends the evaluation if all have answered, or were waited for long enough.
void finish_evaluation_when_over(self_pointer self);

}  // namespace furlong::actors::federation::coordination
