// The relay actor of an aggregator: between its parent and its children, which are its own gateway and other
// aggregators.
#pragma once

#include <optional>

#include "actors/federation/child_sessions.hpp"
#include "actors/federation/interfaces.hpp"
#include "federated/protocol/relay_machine.hpp"

namespace furlong::actors::federation {

struct relay_state;
using relay_pointer = relay_actor::stateful_pointer<relay_state>;

/// What the children of a relay ask of it.
class relay_children final : public processes::children_parent {
 public:
  explicit relay_children(relay_pointer self) : self_(self) {}

  [[nodiscard]] std::optional<std::string> judge_kernels(const processes::kernel_offer& offer) override;
  [[nodiscard]] protocol::aggregator_place place(const protocol::branch_hello& hello) override;
  [[nodiscard]] protocol::welcome add(const protocol::branch_hello& hello) override;
  void hear(std::uint32_t child, upward&& content) override;
  void lose(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override;

 private:
  relay_pointer self_;
};

/// The shell around relay_machine.
struct relay_state {
  std::shared_ptr<const federation_context> run;
  upward_actor up;
  std::uint32_t number = 0;
  protocol::welcome welcome;
  std::optional<protocol::relay_machine> machine;
  gateway_actor gateway;  ///< its own, child 0; null: it has ended
  std::optional<relay_children> parent;
  std::optional<child_sessions> children;
  bool leaving = false;  ///< the run is over: ends after its children
};

/// Lives until the parent's close notice; if that is the end of the run, until its children have ended. `got`: the
/// parent's welcome, with the number of its messages to `up`.
relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome got);

}  // namespace furlong::actors::federation
