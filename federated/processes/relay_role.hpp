// The role of a relay: passes messages between the parent of an aggregator and its children, which are its own gateway
// and other aggregators. Its relay_machine decides which messages go where.
//
//   1. The parent has welcomed the aggregator: the relay begins
//   2. The parent's messages go to children                                           <- on_downward  -> tell_gateway
//   3. What children report goes to the parent                                        <- hear         -> tell_parent
//   4. A child that violates the protocol is dropped: it is lost to the machine       -> violated
//   5. The parent's last close notice goes to all children; the relay is over when they are, or after a second notice.
//      Any other close notice ends it at once                                         -> end
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/processes/children.hpp"
#include "federated/processes/gateway_role.hpp"
#include "federated/processes/surroundings.hpp"
#include "federated/protocol/relay_machine.hpp"

namespace furlong::federated::processes {

/// A relay's own gateway among its children.
inline constexpr std::uint32_t own_gateway_number = 0;

/// What a relay asks of its process. Functions return at once and never call the role.
class relay_surroundings {
 public:
  relay_surroundings() = default;
  relay_surroundings(const relay_surroundings&) = delete;
  relay_surroundings& operator=(const relay_surroundings&) = delete;
  virtual ~relay_surroundings() = default;

  /// The aggregators below it, whose parent is the role. Not asked for in the role's constructor.
  [[nodiscard]] virtual children& known() = 0;
  /// To the parent and to its own gateway, in order.
  virtual void tell_parent(protocol::upward&& content) = 0;
  virtual void tell_gateway(protocol::downward&& content) = 0;
  /// A child violates the protocol, and has been dropped.
  virtual void violated(std::uint32_t child, const std::string& reason) = 0;
  /// The run cannot go on: the parent is to end it on all processes.
  virtual void fail_run(const error& reason) = 0;
  /// The last event of the relay: it has no children any more, and gets none.
  virtual void end(const protocol::close_notice& notice) = 0;
  virtual void log(log_level level, const std::string& text) = 0;
};

class relay_role final : public children_parent {
 public:
  /// `e` and `host` must outlive it. `content`: the parent's welcome, with the number of this aggregator.
  relay_role(const experiment& e, protocol::welcome content, relay_surroundings& host);

  /// A message of the parent.
  void on_downward(const protocol::downward& content);
  /// It hears nothing of its own gateway afterwards.
  void on_gateway_ended(const std::string& reason);
  /// Where a node belongs that has connected to its own gateway.
  [[nodiscard]] node_placement place_node(const node_arrival& node);

  // Of children. Its own gateway reports under `own_gateway_number`.
  [[nodiscard]] std::optional<std::string> judge_kernels(const kernel_offer& offer) override;
  [[nodiscard]] protocol::aggregator_place place(const protocol::branch_hello& hello) override;
  [[nodiscard]] protocol::welcome add(const protocol::branch_hello& hello) override;
  void hear(std::uint32_t child, protocol::upward&& content) override;
  void lose(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override { host_.fail_run(reason); }

 private:
  [[nodiscard]] bool has_children() const { return has_gateway_ || host_.known().size() > 0; }
  void perform(protocol::tell_child& effect);
  void perform(protocol::tell_parent& effect);
  void perform_all(protocol::relay_effects& effects);
  void drop(std::uint32_t child, const std::string& reason);
  void forget(std::uint32_t child);
  void end(const protocol::close_notice& notice);

  const experiment& e_;
  protocol::welcome welcome_;  ///< of its children
  relay_surroundings& host_;
  protocol::relay_machine machine_;
  bool has_gateway_ = true;
  bool leaving_ = false;  ///< the run is over: ends after its children
  bool over_ = false;
};

}  // namespace furlong::federated::processes
