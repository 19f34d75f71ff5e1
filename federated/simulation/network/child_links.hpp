// The links of aggregators to a simulated process above them: hosts its children (federated/processes/children.hpp).
#pragma once

#include <functional>
#include <utility>

#include "federated/processes/children.hpp"
#include "federated/simulation/network/simulated_host.hpp"

namespace furlong::federated::network {

struct shared_world;

class child_links final : private simulated_host<processes::surroundings> {
 public:
  /// Hears of partial aggregates before the parent does.
  using partial_hook = std::function<void(const partial_ptr&)>;

  child_links(shared_world& world, processes::children_parent& parent, partial_hook on_partial);

  /// An aggregator opened a link, and said hello.
  void admit(const link_ptr& through, const protocol::branch_hello& hello);
  [[nodiscard]] processes::children& known() { return children_; }

 private:
  using simulated_host::send;
  void send(protocol::session_number session, protocol::control content) override;
  void on_wake() override {}
  void on_arrival(protocol::session_number session, message&& content) override;
  void on_end(protocol::session_number session) override { children_.on_closed(session, {"the link ended"}); }

  shared_world& world_;
  partial_hook on_partial_;
  processes::children children_;
};

}  // namespace furlong::federated::network
