// Who comes in at an operator port: aggregators, and with network.trust = "operator" nodes.
#pragma once

#include "actors/federation/processes_common.hpp"

namespace furlong::actors::federation {

/// Events of a link that has just opened. Its first frame decides: with a node's hello the link becomes a session of
/// the gateway behind `nodes`, whose clients no certificate limits, and `branch` ends; or, where `nodes` is null, the
/// node is told why not, for good. Everything else is the branch's.
/// @param branch has been told of the channel
/// @param nodes outlives the channel
[[nodiscard]] net::channel_events enter(const branch_link_actor& branch, const net::channel_ptr& channel,
                                        gateway_door* nodes);

}  // namespace furlong::actors::federation
