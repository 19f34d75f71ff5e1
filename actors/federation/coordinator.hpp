// The coordinator actor: drives the rounds of a run over the gateways and aggregators of a federation.
#pragma once

#include <future>

#include "actors/federation/child_sessions.hpp"
#include "actors/federation/gateway.hpp"
#include "actors/federation/processes.hpp"
#include "federated/protocol/client_routes.hpp"
#include "federated/protocol/failed_clients.hpp"
#include "federated/protocol/run_shutdown.hpp"
#include "federated/protocol/scoring_machine.hpp"
#include "federated/protocol/server_machine.hpp"
#include "federated/rounds/stopwatch.hpp"
#include "federated/state/known_stores.hpp"

namespace furlong::actors::federation {

struct coordinator_state;
using coordinator_pointer = coordinator_actor::stateful_pointer<coordinator_state>;

/// What the aggregators of a server ask of it.
class coordinator_children final : public processes::children_parent {
 public:
  explicit coordinator_children(coordinator_pointer self) : self_(self) {}

  [[nodiscard]] std::optional<std::string> judge_kernels(const processes::kernel_offer& offer) override;
  [[nodiscard]] protocol::aggregator_place place(const protocol::branch_hello& hello) override;
  [[nodiscard]] protocol::welcome add(const protocol::branch_hello& hello) override;
  void hear(std::uint32_t child, upward&& content) override;
  void lose(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override;

 private:
  coordinator_pointer self_;
};

/// The shell around server_machine and client_routes.
struct coordinator_state {
  /// Clients that a branch reaches through one node.
  struct node {
    federated::client_range clients;
    std::string name;
    federated::virtual_time since = 0;
  };
  struct branch {
    std::string name;
    std::string gateway;
    federated::virtual_time since = 0;
    std::map<std::uint32_t, node> nodes = {};  ///< by their first client
  };

  std::shared_ptr<const federation_context> run;
  const federated::run_observer* observer = nullptr;
  const server_watcher* watcher = nullptr;
  const std::atomic<bool>* stop = nullptr;
  std::shared_ptr<admission_control> admission;  ///< of the server's own gateway
  std::optional<protocol::client_routes> who;
  std::optional<protocol::failed_clients> failed;
  std::optional<protocol::server_machine> machine;
  federated::virtual_time told_at = 0;  ///< time of the last call of the watcher
  federated::virtual_time began = 0;    ///< on the steady clock, minus the time of earlier lives
  bool started = false;
  struct {
    std::size_t reached = 0;            ///< clients that are here
    federated::virtual_time pause = 0;  ///< before the next notice
    federated::virtual_time due = 0;
  } waiting;  ///< for clients, before the run begins: when the watcher hears of it
  bool settled_to_stop = false;
  std::uint64_t covered = 0;            ///< version of the last durable checkpoint
  std::set<std::string> kernel_levels;  ///< of nodes and aggregators in all lives
  processes::kernel_choice kernels;
  federated::known_stores stores;  ///< of the nodes; empty if no private values are kept
  std::map<std::uint32_t, branch> branches;
  gateway_actor gateway;  ///< its own, branch `own`
  std::optional<coordinator_children> parent;
  std::optional<child_sessions> children;  ///< the other branches
  protocol::server_effects effects;        ///< to be performed, in order
  std::optional<protocol::scoring_machine> evaluation;
  bool unevaluated = false;  ///< the last evaluation is incomplete: the next life repeats it
  federated::evaluation_report last_evaluation;
  std::optional<federated::stopwatch> watch;
  std::optional<federated::run_outcome> outcome;  ///< of a run that is over, until all processes have heard of it
  std::optional<protocol::run_shutdown> shutdown;
  std::uint32_t own = 0;  ///< number of the server's own gateway
  caf::typed_response_promise<run_result> promise;
};

/// Publishes the status to the watcher, at most once per second.
void tell_watcher(coordinator_state& state);
/// The number of connected clients with which the run begins.
[[nodiscard]] std::size_t clients_to_begin(const coordinator_state& state);
/// Tells the watcher which clients the run waits for, when that is due.
void tell_waiting(coordinator_state& state);

/// `opened` receives the server's own gateway.
coordinator_actor::behavior_type coordinator_behavior(
    coordinator_pointer self, std::shared_ptr<const federation_context> run,
    std::shared_ptr<federated::server_state> start, const federated::run_observer* observer,
    const server_watcher* watcher, const std::atomic<bool>* stop, clients_of_certificate clients_of,
    std::shared_ptr<admission_control> admission, std::shared_ptr<std::promise<gateway_actor>> opened);

}  // namespace furlong::actors::federation

// What the coordinator does with the effects of its machines, and with evaluations.
namespace furlong::actors::federation::coordination {

/// The run's clock.
[[nodiscard]] inline federated::virtual_time now(coordinator_pointer self) { return steady_now() - self->state.began; }

/// Sends all branches a close notice and delivers the outcome. `final`: they must not reconnect to a later server
/// process.
void end_run(coordinator_pointer self, result<federated::run_outcome> outcome, bool final);
void fail_run(coordinator_pointer self, error why);
/// The same for a failure after which the run cannot be resumed: nodes and aggregators end as well.
void fail_for_all(coordinator_pointer self, error why);
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
