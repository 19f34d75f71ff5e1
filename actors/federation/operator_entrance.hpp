// Links at an operator port: aggregators, and with network.trust = "operator" nodes.
#pragma once

#include "actors/federation/processes_common.hpp"

namespace furlong::actors::federation {

/// Events of a newly opened link. Its first frame decides: with a node's hello the link becomes a session of the
/// gateway behind `nodes`, for any clients, and `branch` ends; or, if `nodes` is null, the node is rejected for good.
/// Everything else goes to the branch.
/// @param branch has received session_opened
/// @param nodes outlives the channel
[[nodiscard]] net::channel_events operator_link_events(const branch_link_actor& branch, const net::channel_ptr& channel,
                                                       session_router* nodes);

}  // namespace furlong::actors::federation
