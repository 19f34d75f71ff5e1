// Effects of the server machine that an actor performs.
#pragma once

#include <utility>
#include <variant>

#include "federated/protocol/server_machine.hpp"

namespace furlong::actors::federation {

/// Effects to be performed, in order. Not thread-safe.
class effect_queue {
 public:
  void add(federated::protocol::server_effects effects) {
    for (auto& effect : effects) effects_.push_back(std::move(effect));
  }
  /// Calls perform(effect) for each, including those that it adds, while goes_on(); drops the rest.
  template <class Perform, class GoesOn>
  void perform_all(Perform perform, GoesOn goes_on) {
    for (std::size_t next = 0; next < effects_.size(); ++next) {
      auto effect = std::move(effects_[next]);  // moved out: adding may reallocate
      std::visit(perform, effect);
      if (!goes_on()) break;
    }
    effects_.clear();
  }

 private:
  federated::protocol::server_effects effects_;
};

}  // namespace furlong::actors::federation
