// The worker actor of a node: trains and scores one client after another.
#pragma once

#include "actors/federation/node.hpp"

namespace furlong::actors::federation {

worker_actor::behavior_type worker_behavior(worker_actor::pointer self, node_actor parent);

}  // namespace furlong::actors::federation
