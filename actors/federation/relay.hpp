// The relay actor of an aggregator: between its parent and its children, which are its own gateway and other
// aggregators.
#pragma once

#include <map>
#include <optional>

#include "actors/federation/interfaces.hpp"
#include "federated/protocol/relay_machine.hpp"

namespace furlong::actors::federation {

/// The shell around relay_machine.
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
  bool leaving = false;  ///< the run is over: ends after its children
};

using relay_pointer = relay_actor::stateful_pointer<relay_state>;

/// Lives until the parent's close notice; if that is the end of the run, until its children have ended. `got`: the
/// parent's welcome, with the number of its messages to `up`.
relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome got);

}  // namespace furlong::actors::federation
