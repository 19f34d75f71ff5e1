// What the coordinator does with the effects of its machines, and with evaluations.
#pragma once

#include "actors/federation/coordinator.hpp"

namespace furlong::actors::federation::coordination {

/// The run's clock.
[[nodiscard]] inline federated::virtual_time now(coordinator_pointer self) { return steady_now() - self->state.began; }

/// Sends all branches a close notice and delivers the outcome. `final`: they must not reconnect to a later server
/// process.
void end_run(coordinator_pointer self, result<federated::run_outcome> outcome, bool final);
void fail_run(coordinator_pointer self, error why);
/// Takes the next step of the shutdown, once the run is over.
void continue_shutdown(coordinator_pointer self);
/// Sends to a branch; drops the message if the branch has ended.
void send_down(coordinator_pointer self, std::uint32_t to, downward what);
void perform_all(coordinator_pointer self, protocol::server_effects effects);
void save_checkpoint(coordinator_pointer self);
/// Requests scores. Returns the number of clients.
std::size_t send_requests(coordinator_pointer self, protocol::scoring_machine::requests by_branch);
/// Ends the evaluation if all clients have answered or the wait has timed out.
void finish_evaluation_when_over(coordinator_pointer self);

}  // namespace furlong::actors::federation::coordination
