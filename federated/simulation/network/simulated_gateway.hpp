// A gateway of a simulated federation, in the server and in aggregators: hosts its role (gateway_role).
#pragma once

#include <functional>

#include "federated/processes/gateway_role.hpp"
#include "federated/simulation/network/environment.hpp"
#include "federated/simulation/network/simulated_host.hpp"

namespace furlong::federated::network {

struct shared_world;

/// What a gateway asks of its parent. Called at once: it is the parent that lets time pass.
struct gateway_parent {
  std::function<void(protocol::upward&&)> hear;
  std::function<void(const partial_ptr&)> hear_partial;
  std::function<void(const processes::node_arrival&)> place;
  std::function<void()> end = [] {};  ///< the gateway is over
};

class simulated_gateway final : private simulated_host<processes::gateway_surroundings> {
 public:
  simulated_gateway(shared_world& world, processes::gateway_options options, protocol::welcome content,
                    gateway_parent parent, scheduler later);

  /// A node opened a link, and said hello.
  void admit(const link_ptr& through, const protocol::hello& hello);
  void on_downward(const protocol::downward& content);
  void on_placed(const processes::node_placement& place) { role_.on_placed(place); }

 private:
  void tell_parent(protocol::upward&& content) override;
  void place(const processes::node_arrival& node) override { parent_.place(node); }
  void record_refusal(const processes::peer_facts& peer, processes::admission_refusal reason,
                      const std::string& text) override;
  void record_unasked(rejection) override {}
  void end() override { parent_.end(); }
  void on_wake() override { role_.on_wake(); }
  void on_arrival(protocol::session_number session, message&& content) override;
  void on_end(protocol::session_number session) override { role_.on_closed(session, {"the link ended"}); }

  shared_world& world_;
  std::uint64_t id_;
  gateway_parent parent_;
  processes::gateway_role role_;
};

}  // namespace furlong::federated::network
