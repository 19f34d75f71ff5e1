// Messages between a parent (the server, or an aggregator) and its branches (a gateway, or a child aggregator) within a
// process: those of messages.hpp, with models by pointer and partial aggregates by value.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "federated/protocol/aggregator_machine.hpp"
#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

/// Tasks on this model. `begins`: a new share begins with them.
struct share_down {
  broadcast_ptr from;
  std::vector<task_id> tasks;
  bool begins = false;
};
/// Score these clients on this model.
struct evaluation_down {
  broadcast_ptr from;
  std::vector<std::pair<group, std::uint32_t>> clients;
};
using downward =
    std::variant<share_down, close_request, withdrawal, verdicts, checkpointed, evaluation_down, displaced, farewell>;
using upward = std::variant<attached, detached, settled, send_partial, withdrawn, tasks_lost, evaluation_scores>;

/// Send to the parent.
struct tell_parent {
  upward content;
};

}  // namespace furlong::federated::protocol
