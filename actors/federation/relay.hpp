// The relay actor: what an aggregator is between its parent and its children, its own gateway and other aggregators.
#pragma once

#include <map>
#include <optional>

#include "actors/federation/interfaces.hpp"
#include "federated/protocol/relay_machine.hpp"

namespace furlong::actors::federation {

/// The shell round relay_machine.
struct relay_state {
  struct child {
    branch_actor actor;
    std::string name;
  };

  std::shared_ptr<const federation_context> run;
  upward_actor up;
  std::uint32_t number = 0;
  protocol::welcome welcome;
  std::optional<protocol::relay_machine> machine;
  std::map<std::uint32_t, child> children;
  bool leaving = false;  ///< the run is over: ends once its children have
};

/// Lives until the parent's farewell; if that is the end of the run, until its children have ended. `got`: the parent's
/// welcome, with the number under which it tells `up` everything.
relay_actor::behavior_type relay_behavior(relay_actor::stateful_pointer<relay_state> self,
                                          std::shared_ptr<const federation_context> run, upward_actor up,
                                          protocol::welcome got);

}  // namespace furlong::actors::federation
