#include "federated/simulation/network/federation.hpp"

#include <algorithm>

#include "federated/settings/network.hpp"

namespace furlong::federated::network {

federation::federation(const experiment& e, environment& around, const federation_shape& shape)
    : shape_(shape),
      world_{e,
             around,
             {e.settings.seed, from_seconds(e.settings.network->heartbeat + e.settings.network->timeout),
              shape.least_latency, shape.most_latency},
             {}},
      aggregators_(shape.aggregators),
      nodes_(shape.nodes) {
  world_.clients_of = [this](const std::string& name) -> std::optional<client_range> {
    const auto at = host_of(name);
    if (!is_node(at) || at >= hosts()) return std::nullopt;
    return clients_of(at - 1 - shape_.aggregators);
  };
}

/// Processes before the network that they are in.
federation::~federation() {
  nodes_.clear();
  aggregators_.clear();
  server_.reset();
}

client_range federation::clients_of(std::uint32_t index) const {
  const std::uint64_t clients = world_.e.clients->facts().clients;
  const auto begin = [&](std::uint64_t node) { return static_cast<std::uint32_t>(clients * node / shape_.nodes); };
  return {begin(index), begin(index + 1) - 1};
}

void federation::start_server(server_state from) {
  server_ = std::make_unique<server_process>(world_, std::move(from));
  server_->start();
}

void federation::start(host at) {
  if (is_node(at)) {
    const auto index = at - 1 - shape_.aggregators;
    auto& node = nodes_[index];
    if (node && !node->stopped()) return;
    node.reset();
    node = std::make_unique<node_process>(world_, at, index, clients_of(index));
    return node->start();
  }
  auto& aggregator = aggregators_[at - 1];
  if (aggregator) return;
  const bool takes_others = shape_.without_port == 0 || at % shape_.without_port != 0;
  aggregator = std::make_unique<aggregator_process>(world_, at, takes_others);
  aggregator->start();
}

void federation::kill(host at) {
  if (at == server_host)
    server_.reset();
  else if (is_node(at))
    nodes_[at - 1 - shape_.aggregators].reset();
  else
    aggregators_[at - 1].reset();
}

void federation::drain(std::uint32_t index) {
  if (const auto& node = nodes_[index]; node && !node->stopped()) node->drain();
}

bool federation::all_nodes_stopped() const {
  return std::ranges::all_of(nodes_, [](const auto& node) { return !node || node->stopped(); });
}

}  // namespace furlong::federated::network
