// The relay of a simulated aggregator, with its own gateway: hosts its role (federated/processes/relay_role.hpp).
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "federated/processes/relay_role.hpp"
#include "federated/simulation/network/child_links.hpp"
#include "federated/simulation/network/simulated_gateway.hpp"

namespace furlong::federated::network {

/// What a relay asks of its aggregator. Called at once: it is the aggregator that lets time pass.
struct relay_parent {
  std::function<void(protocol::upward&&)> hear;
  std::function<void()> end;
};

/// Its gateway outlives it until it has heard of the end.
class simulated_relay final : private processes::relay_surroundings {
 public:
  /// @param content the parent's welcome
  /// @param after calls a function after a while, unless the process has ended
  simulated_relay(shared_world& world, const protocol::welcome& content, relay_parent parent, scheduler after);

  /// A node, or an aggregator, opened a link, and said hello.
  void admit(const link_ptr& through, const protocol::hello& hello) { gateway_->admit(through, hello); }
  void admit(const link_ptr& through, const protocol::branch_hello& hello) { children_.admit(through, hello); }
  /// A message of the parent.
  void on_downward(const protocol::downward& content);
  /// As hooks know it.
  [[nodiscard]] std::uint64_t id() const { return id_; }

 private:
  [[nodiscard]] processes::children& known() override { return children_.known(); }
  void tell_parent(protocol::upward&& content) override { parent_.hear(std::move(content)); }
  void tell_gateway(protocol::downward&& content) override;
  void violated(std::uint32_t child, const std::string& reason) override;
  void fail_run(const error& reason) override;
  void end(const protocol::close_notice&) override { parent_.end(); }
  void log(processes::log_level, const std::string&) override {}

  [[nodiscard]] gateway_parent parent_of_gateway(const scheduler& later);

  shared_world& world_;
  std::uint64_t id_;
  relay_parent parent_;
  scheduler after_;
  processes::relay_role role_;
  child_links children_;
  std::shared_ptr<simulated_gateway> gateway_;
  std::shared_ptr<int> alive_ = std::make_shared<int>();
};

}  // namespace furlong::federated::network
