// The actors of a federation of processes, and their messages. Messages over a network are encoded by the actors at its
// ends; messages within a process carry pointers.
//
//   server process                                  aggregator process                          node process
//   coordinator <--from_branch-- gateway <~frames~ (nodes)
//   coordinator <~frames~> parent_link <--from_branch-- relay
//                                                       relay <--from_branch-- gateway <~frames~> node --> workers
//                                                       relay <~frames~ (aggregators)
// and to_branch the other way. ~ is a channel over TLS (actors/net/channel.hpp).
#pragma once

#include <caf/all.hpp>
#include <memory>
#include <utility>
#include <variant>
#include <vector>

#include "actors/federation/admission_control.hpp"
#include "actors/interfaces.hpp"
#include "actors/net/channel.hpp"
#include "actors/unscored_warnings.hpp"
#include "federated/processes/gateway_role.hpp"
#include "federated/processes/node_role.hpp"
#include "federated/protocol/messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::actors::federation {

namespace processes = federated::processes;
namespace protocol = federated::protocol;
class model_frames;

using processes::run_is_over;
using protocol::downward;
using protocol::evaluation_down;
using protocol::upward;

/// Parent to branch: a gateway, or the link to one in another process.
struct to_branch {
  std::shared_ptr<const downward> what;
};
/// Branch to parent. `branch`: its assigned number.
struct from_branch {
  std::uint32_t branch = 0;
  std::shared_ptr<upward> what;
};
/// The actor of a branch has ended: the gateway of this process, or its relay.
struct branch_gone {
  std::uint32_t branch = 0;
  std::string why;
};
/// A gateway asks where a node with these clients belongs; and the answer.
struct node_arrived {
  processes::node_arrival node;
};
struct node_placed {
  processes::node_placement place;
};
/// To a gateway: all its nodes are to connect again.
struct sessions_over {
  std::string why;
};
/// From a transport: a channel opened, a frame came over it, it closed. The channel closes when nobody has it any more
/// (net::owned): neither an actor nor this message.
struct session_opened {
  protocol::session_number session = 0;
  net::channel_ptr channel;
  bool trusted = false;  ///< the peer has an operator certificate
};
struct session_frame {
  protocol::session_number session = 0;
  std::shared_ptr<net::received> frame;
};
struct session_closed {
  protocol::session_number session = 0;
  std::string why;
  bool denied = false;  ///< not opened: this side's certificate is on the peer's deny list
};

/// To the parent: the run cannot go on, and ends on all processes. A message of it cannot be encoded, for which nodes
/// and aggregators would wait, or its aggregation rule failed here, as it would elsewhere.
struct run_failure {
  error why;
};

/// A delayed message of an actor to itself.
struct alarm {
  protocol::timer what;
};
/// A periodic check, without content.
struct tick {};
/// The masks of a sum are removed (protocol::remove_masks).
struct masks_removed {
  std::shared_ptr<protocol::remove_masks> work;
};

/// Node to worker: do this job; and back: done.
struct node_training {
  federated::processes::node_run_ptr run;  ///< only while a worker runs: it keeps the store open
  std::shared_ptr<federated::processes::trained_task> task;
};
/// Node to worker: score these clients. Worker to node: the scores, for the session that requested them.
struct node_scoring {
  federated::processes::node_run_ptr run;  ///< only while a worker runs: it keeps the store open
  std::shared_ptr<unscored_warnings> unscored;
  std::shared_ptr<const federated::processes::scoring> asked;
};
struct node_scored {
  protocol::session_number session = 0;
  std::shared_ptr<protocol::evaluation_scores> scores;
};

struct own_gateway;

}  // namespace furlong::actors::federation

// Far above those of the other headers, so that the headers are independent.
CAF_BEGIN_TYPE_ID_BLOCK(furlong_federation, first_custom_type_id + 200)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::to_branch)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::from_branch)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::branch_gone)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::node_arrived)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::node_placed)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::session_opened)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::session_frame)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::session_closed)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::alarm)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::tick)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::masks_removed)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::node_training)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::node_scoring)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::node_scored)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::own_gateway)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::sessions_over)
FURLONG_LOCAL_MESSAGE(furlong_federation, furlong::actors::federation::run_failure)
CAF_END_TYPE_ID_BLOCK(furlong_federation)

namespace furlong::actors::federation {

using branch_actor = caf::typed_actor<caf::reacts_to<to_branch>>;
/// The destination of a relay's messages to its parent.
using upward_actor = caf::typed_actor<caf::reacts_to<from_branch>, caf::reacts_to<run_failure>>;
/// The parent of branches: the coordinator in the server, the relay in an aggregator. When it ends, its branches end;
/// for good if it ends normally.
using parent_actor =
    upward_actor::extend<caf::reacts_to<branch_gone>, caf::reacts_to<node_arrived>, caf::reacts_to<session_opened>,
                         caf::reacts_to<session_frame>, caf::reacts_to<session_closed>>;
using session_events =
    caf::typed_actor<caf::reacts_to<session_opened>, caf::reacts_to<session_frame>, caf::reacts_to<session_closed>>;
using gateway_actor = session_events::extend<caf::reacts_to<to_branch>, caf::reacts_to<node_placed>,
                                             caf::reacts_to<sessions_over>, caf::reacts_to<tick>>;
using coordinator_actor = parent_actor::extend<caf::replies_to<run_request>::with<run_result>, caf::reacts_to<alarm>,
                                               caf::reacts_to<tick>, caf::reacts_to<masks_removed>>;
/// First message to a relay: its own gateway.
struct own_gateway {
  gateway_actor actor;
};
using relay_actor = parent_actor::extend<caf::reacts_to<to_branch>, caf::reacts_to<own_gateway>>;
using parent_link_actor = session_events::extend<caf::reacts_to<from_branch>, caf::reacts_to<run_failure>,
                                                 caf::reacts_to<branch_gone>, caf::reacts_to<tick>>;
using worker_actor = caf::typed_actor<caf::reacts_to<node_training>, caf::reacts_to<node_scoring>>;
using node_actor =
    session_events::extend<caf::reacts_to<node_training>, caf::reacts_to<node_scored>, caf::reacts_to<tick>>;

/// Shared by the gateways, links and coordinator of a process. Outlives them.
struct federation_context {
  const federated::experiment& e;
  /// For nodes and aggregators; the sender fills in `covered`, `history` and `aggregator`.
  protocol::welcome welcome;
  std::shared_ptr<model_frames> frames;
  federated::privacy::key_check check_keys = {};  ///< of clients under secure aggregation; at the server with TLS
};

/// Microseconds on this process's steady clock, the time of the state machines.
[[nodiscard]] federated::virtual_time steady_now();

}  // namespace furlong::actors::federation
