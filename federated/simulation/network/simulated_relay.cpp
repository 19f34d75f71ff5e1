#include "federated/simulation/network/simulated_relay.hpp"

#include <utility>
#include <variant>

#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

simulated_relay::simulated_relay(shared_world& world, const protocol::welcome& content, relay_parent parent,
                                 scheduler after)
    : world_(world),
      id_(++world.last_id),
      parent_(std::move(parent)),
      after_(std::move(after)),
      role_(world.e, content, *this),
      children_(world, role_, [this](const partial_ptr& partial) { world_.around.on_merged(id_, partial); }) {
  const scheduler later = [after = after_, alive = std::weak_ptr(alive_)](virtual_time wait,
                                                                          std::function<void()> action) {
    after(wait, [alive, action = std::move(action)] {
      if (!alive.expired()) action();
    });
  };
  auto own = content;
  own.aggregator = processes::own_gateway_number;
  gateway_ = std::make_shared<simulated_gateway>(
      world_, processes::gateway_options{processes::own_gateway_number, world_.clients_of}, std::move(own),
      parent_of_gateway(later), later);
}

/// As between actors: in order, and not at once.
gateway_parent simulated_relay::parent_of_gateway(const scheduler& later) {
  gateway_parent parent;
  parent.hear = [this, later](protocol::upward&& content) {
    later(0, [this, shared = std::make_shared<protocol::upward>(std::move(content))] {
      role_.hear(processes::own_gateway_number, std::move(*shared));
    });
  };
  parent.hear_partial = [this, later](const partial_ptr& partial) {
    later(0, [this, partial] {
      world_.around.on_merged(id_, partial);
      role_.hear(processes::own_gateway_number, partial_aggregate(*partial));
    });
  };
  parent.place = [this, later](const processes::node_arrival& node) {
    later(0, [this, later, node] { later(0, [this, place = role_.place_node(node)] { gateway_->on_placed(place); }); });
  };
  parent.end = [this, later] { later(0, [this] { role_.on_gateway_ended("its nodes have left"); }); };
  return parent;
}

void simulated_relay::on_downward(const protocol::downward& content) {
  const auto* const share = std::get_if<protocol::assign>(&content);
  if (share != nullptr && share->begins) world_.around.on_share(id_);
  role_.on_downward(content);
}

void simulated_relay::tell_gateway(protocol::downward&& content) {
  if (const auto* share = std::get_if<protocol::assign>(&content))
    for (const auto& task : share->tasks)
      if (task.version != share->from->version)
        world_.around.wrong(text_of(task) + " was passed on with another model");
  after_(0, [gateway = gateway_, shared = std::make_shared<protocol::downward>(std::move(content))] {
    gateway->on_downward(*shared);
  });
}

void simulated_relay::violated(std::uint32_t child, const std::string& reason) {
  world_.around.wrong("child " + std::to_string(child) + " of a relay: " + reason);
}

void simulated_relay::fail_run(const error& reason) { world_.around.on_failure(reason); }

}  // namespace furlong::federated::network
