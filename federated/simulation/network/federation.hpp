// A federation of simulated processes: which there are, and how they are started and killed.
#pragma once

#include <memory>
#include <vector>

#include "federated/simulation/network/aggregator_process.hpp"
#include "federated/simulation/network/node_process.hpp"

namespace furlong::federated::network {

struct federation_shape {
  std::uint32_t aggregators = 0;   ///< in processes of their own
  std::uint32_t nodes = 1;         ///< each hosts as many clients, to one client
  std::uint32_t without_port = 0;  ///< every so many aggregators take no others in; 0: all do
  virtual_time least_latency = millisecond;
  virtual_time most_latency = millisecond;
};

/// Hosts are numbered: 0 the server, then aggregators, then nodes. A host has one process at most.
class federation {
 public:
  /// `e` and `around` must outlive it. Nothing is started.
  federation(const experiment& e, environment& around, const federation_shape& shape);
  ~federation();

  [[nodiscard]] host aggregator_host(std::uint32_t index) const { return 1 + index; }
  [[nodiscard]] host node_host(std::uint32_t index) const { return 1 + shape_.aggregators + index; }
  [[nodiscard]] host hosts() const { return 1 + shape_.aggregators + shape_.nodes; }
  /// Whether the host is a node's.
  [[nodiscard]] bool is_node(host at) const { return at > shape_.aggregators; }
  /// Clients of a node.
  [[nodiscard]] client_range clients_of(std::uint32_t index) const;

  void start_server(server_state from);
  /// An aggregator or a node, unless it runs.
  void start(host at);
  void kill(host at);
  /// Asks a node to end.
  void drain(std::uint32_t index);

  [[nodiscard]] shared_world& world() { return world_; }
  [[nodiscard]] server_process* server() { return server_.get(); }
  [[nodiscard]] const server_process* server() const { return server_.get(); }
  /// Null: it does not run.
  [[nodiscard]] node_process* node(std::uint32_t index) { return nodes_[index].get(); }
  /// Every node's process has ended by itself, or does not run.
  [[nodiscard]] bool all_nodes_stopped() const;

 private:
  federation_shape shape_;
  shared_world world_;
  std::unique_ptr<server_process> server_;
  std::vector<std::unique_ptr<aggregator_process>> aggregators_;
  std::vector<std::unique_ptr<node_process>> nodes_;
};

}  // namespace furlong::federated::network
