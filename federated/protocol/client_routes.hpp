// Routes to the clients of a federation: the aggregator through which each is connected.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "federated/protocol/messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::federated::protocol {

/// The answer to an aggregator that connects.
struct aggregator_place {
  bool here = true;       ///< it is accepted
  std::string elsewhere;  ///< otherwise the operator port to go to; empty: there is none
};

/// A node (hello::instance), and where it was attached.
struct node_place {
  std::uint32_t aggregator = 0;
  std::uint64_t instance = 0;
  friend auto operator<=>(const node_place&, const node_place&) = default;
};

/// How long disconnected clients are expected to return.
struct absence_limits {
  virtual_time with_node = 0;     ///< its session with a gateway ended
  virtual_time with_strayed = 0;  ///< its gateway was lost, or it is moving to another one
};

/// The server's roster under the real clock, and an aggregator's routes to clients below it. Not thread-safe.
class client_routes final : public roster {
 public:
  /// @param clients size of the population
  /// @param training clients that may be selected
  /// @param waits how long disconnected clients are expected
  client_routes(std::size_t clients, std::span<const std::uint32_t> training, absence_limits waits = {});

  /// Adds an aggregator. `gateway` is its "host:port" for nodes; empty: this process. `operators`: its "host:port" for
  /// other aggregators; empty: none.
  /// @return its number, never used before; the first is 0
  [[nodiscard]] std::uint32_t add_aggregator(std::string gateway, std::string operators = {});
  /// Removes an aggregator and the routes through it. Its clients' nodes may still run: they are expected elsewhere.
  void remove_aggregator(std::uint32_t number, virtual_time now = 0);
  /// These clients are now connected there, wherever they were before. False for invalid numbers. `instance`: of their
  /// node, or 0.
  [[nodiscard]] bool attach(std::uint32_t aggregator, client_range clients, std::uint64_t instance = 0);
  /// Attached nodes with some of these clients: a node that takes these clients over displaces them. Excludes the node
  /// itself, which may have moved between gateways whose reports arrive in any order, and nodes of unknown instance;
  /// empty if its own instance is unknown.
  [[nodiscard]] std::vector<node_place> others_with(const client_range& clients, std::uint64_t instance) const;
  /// These clients are no longer connected there. Two aggregators' reports of a node may arrive in any order, so the
  /// last earlier route is used again if there is one. `strayed`: their gateway was lost.
  void detach(std::uint32_t aggregator, client_range clients, virtual_time now = 0, bool strayed = false);
  /// The node of these clients lives, and is on its way to a gateway: the way to it that is known may be none any more.
  void on_node_seen(client_range clients, virtual_time now);
  /// The node of these clients was refused: they are not expected any more.
  void refused(client_range clients);
  /// The run begins, and the clock goes from `before` to `now`. Disconnected training clients are no longer expected;
  /// the expectations of others move with the clock.
  void begin(virtual_time before, virtual_time now);

  /// Number of connected training clients.
  [[nodiscard]] std::size_t reached() const { return reached_; }
  /// Number of clients connected through an aggregator.
  [[nodiscard]] std::size_t reached(std::uint32_t aggregator) const;
  /// The gateway for a node with these clients: that of the aggregator process with the fewest clients, except the one
  /// at `avoid`. Empty: the server's own. The clients count as that aggregator's until they are attached anywhere or no
  /// longer expected, so nodes that connect at once are spread.
  [[nodiscard]] std::string gateway_for(client_range clients, const std::string& avoid, virtual_time now = 0);
  /// The same for a node that connected to this process's own gateway, aggregator 0: it is redirected only to one with
  /// fewer clients. Empty: it stays, and counts there.
  [[nodiscard]] std::string gateway_with_fewer(client_range clients, const std::string& avoid);
  /// Where an aggregator that connects is to attach if at most `most` (0: any number) in addition to aggregator 0
  /// attach here: at the one with an operator port to which the fewest were sent, except the one at `own`, its own
  /// port, from which it would return. Counts it as sent there.
  [[nodiscard]] aggregator_place place_aggregator(std::size_t most, const std::string& own);
  /// Client ranges attached there.
  [[nodiscard]] std::vector<client_range> claims(std::uint32_t aggregator) const;
  /// True if this range is attached anywhere.
  [[nodiscard]] bool is_claimed(const client_range& clients) const;

  void on_round(std::uint64_t, virtual_time) override {}
  [[nodiscard]] bool reachable(std::uint32_t client, virtual_time, std::uint64_t) override {
    return route(client).has_value();
  }
  [[nodiscard]] bool waiting_helps() const override { return true; }
  [[nodiscard]] bool routes() const override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> route(std::uint32_t client) const override;
  [[nodiscard]] virtual_time expected_until(std::uint32_t client) const override {
    return client < expected_.size() ? expected_[client] : 0;
  }
  [[nodiscard]] std::uint64_t instance(std::uint32_t client) const override {
    return client < instance_.size() ? instance_[client] : 0;
  }
  [[nodiscard]] std::vector<std::uint32_t> aggregators() const override;

 private:
  struct claim {
    client_range clients;
    std::uint64_t order = 0;  ///< order of reports
    std::uint64_t instance = 0;
    [[nodiscard]] std::uint64_t node() const { return instance != 0 ? instance : ~order; }
  };
  struct arrival {
    std::size_t clients = 0;
    virtual_time expected = 0;  ///< until then
  };
  struct known_aggregator {
    std::string gateway;
    std::string operators;
    std::size_t clients = 0;
    std::size_t sent_on = 0;                       ///< aggregators that were sent there
    std::vector<claim> here;                       ///< attached ranges
    std::map<std::uint32_t, arrival> coming = {};  ///< by first client: ranges whose nodes were sent there
    /// Attached clients and those on their way.
    [[nodiscard]] std::size_t load(virtual_time now) const;
  };
  [[nodiscard]] known_aggregator* least_loaded(const std::string& avoid, virtual_time now);
  [[nodiscard]] std::string send_to(known_aggregator& one, client_range clients, virtual_time now) const;
  void remove_coming(client_range clients);
  void move(std::uint32_t client, std::uint32_t to, std::uint64_t instance);
  void unroute(std::uint32_t client, virtual_time expected);

  std::vector<std::uint32_t> through_;  ///< aggregator by client, or nowhere
  std::vector<bool> trains_;            ///< by client
  absence_limits waits_;
  std::vector<virtual_time> expected_;   ///< by client: until when it is expected if it is not connected
  std::vector<std::uint64_t> instance_;  ///< by client: of its node, if connected
  std::map<std::uint32_t, known_aggregator> aggregators_;
  std::uint32_t next_ = 0;
  std::uint64_t last_claim_ = 0;
  std::size_t reached_ = 0;
};

}  // namespace furlong::federated::protocol
