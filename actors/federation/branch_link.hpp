// The parent's end of the link to an aggregator: encodes and decodes its messages.
#pragma once

#include <deque>

#include "actors/federation/interfaces.hpp"
#include "wire/decode.hpp"

namespace furlong::actors::federation {

struct branch_link_state {
  std::shared_ptr<const federation_context> run;
  parent_actor parent;
  net::channel_ptr channel;
  std::optional<std::uint32_t> number;  ///< once admitted
  std::optional<wire::decoder> decoder;
  std::deque<std::uint64_t> models;  ///< versions that were sent to the aggregator
};

using branch_link_pointer = branch_link_actor::stateful_pointer<branch_link_state>;

/// Lives as long as its channel, which session_opened delivers.
branch_link_actor::behavior_type branch_link_behavior(branch_link_pointer self,
                                                      std::shared_ptr<const federation_context> run,
                                                      parent_actor parent);

}  // namespace furlong::actors::federation
