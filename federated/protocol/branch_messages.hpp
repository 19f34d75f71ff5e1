// Messages between a parent (the server, or an aggregator) and its branches (a gateway, or a child aggregator) within a
// process: those of messages.hpp, with models by pointer and partial aggregates by value.
#pragma once

#include <utility>
#include <variant>
#include <vector>

#include "federated/protocol/messages.hpp"

namespace furlong::federated::protocol {

/// Tasks on this model. `begins`: a new share; what the aggregator folded before is done with.
struct assign {
  std::uint32_t aggregator = 0;  ///< the branch; 0 where the recipient is a node
  broadcast_ptr from;
  std::vector<task_id> tasks;
  bool begins = true;
};
/// The same for a network, over which the model is sent before.
[[nodiscard]] inline assignment message_of(const assign& what) {
  assignment made{what.from->run, what.from->version, what.begins, {}};
  for (const auto& id : what.tasks) made.tasks.push_back({id.client, id.attempt});
  return made;
}
/// Score these clients on this model.
struct evaluation_down {
  broadcast_ptr from;
  std::vector<std::pair<group, std::uint32_t>> clients;
};
using downward = std::variant<assign, close_request, withdrawal, verdicts, checkpointed, evaluation_down, letters,
                              displaced, close_notice>;
using upward =
    std::variant<attached, detached, settled, partial_aggregate, withdrawn, tasks_lost, evaluation_scores, letters>;

/// Send to the parent.
struct tell_parent {
  upward content;
};

}  // namespace furlong::federated::protocol
