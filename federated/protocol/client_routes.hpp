// Where the clients of a federation are reached: through which aggregator, which they reach through nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "federated/protocol/messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::federated::protocol {

/// What an aggregator that arrives is told.
struct aggregator_place {
  bool here = true;       ///< there is room
  std::string elsewhere;  ///< if not: the operator port to go to; empty: there is none
};

/// A node (hello::instance), and where it was attached.
struct node_place {
  std::uint32_t aggregator = 0;
  std::uint64_t instance = 0;
  friend auto operator<=>(const node_place&, const node_place&) = default;
};

/// How long clients that are not reached are expected to come back, without a sign of life of their node.
struct absence_limits {
  virtual_time with_node = 0;     ///< its session with a gateway ended
  virtual_time with_strayed = 0;  ///< its gateway was lost, or it was seen on its way to another one
};

/// The server's roster under the real clock, and what an aggregator knows of those below it. One thread at a time.
class client_routes final : public roster {
 public:
  /// @param clients how many there can be, at all
  /// @param training those that the server may ask
  /// @param waits how long those that are not reached are expected
  client_routes(std::size_t clients, std::span<const std::uint32_t> training, absence_limits waits = {});

  /// Takes a new aggregator in. `gateway` is the "host:port" where nodes reach it; empty: this process itself.
  /// `operators`: where other aggregators reach it; empty: nowhere.
  /// @return its number, never used before; the first is 0
  [[nodiscard]] std::uint32_t add_aggregator(std::string gateway, std::string operators = {});
  /// It is gone, and with it the way to its clients. Their nodes may live: they are expected elsewhere.
  void remove_aggregator(std::uint32_t number, virtual_time now = 0);
  /// These clients are reached there now, wherever they were before. False when there are none of these numbers.
  /// `instance`: of their node, or 0.
  [[nodiscard]] bool attach(std::uint32_t aggregator, client_range clients, std::uint64_t instance = 0);
  /// Nodes that are attached and not detached and have some of these clients: one that takes them over displaces these.
  /// Not itself: it may have gone from one gateway to another, and these tell of it in any order. Nor nodes of unknown
  /// instance; and none, if its own is not known.
  [[nodiscard]] std::vector<node_place> others_with(const client_range& clients, std::uint64_t instance) const;
  /// They are not, unless they are reached elsewhere: what is told of a node by two aggregators may come in any order,
  /// so the way that was told of last before this one is taken again. `strayed`: their gateway was lost.
  void detach(std::uint32_t aggregator, client_range clients, virtual_time now = 0, bool strayed = false);
  /// The node of these clients lives, and is on its way to a gateway: the way to it that is known may be none any more.
  void on_node_seen(client_range clients, virtual_time now);
  /// The node of these clients was refused: they are not expected any more.
  void refused(client_range clients);
  /// The run begins, and the clock goes from `before` to `now`. Training clients that are not reached are not expected
  /// any more; the others are, for as long as they were.
  void begin(virtual_time before, virtual_time now);

  /// Training clients that are reached now.
  [[nodiscard]] std::size_t reached() const { return reached_; }
  /// Clients that are reached through an aggregator now.
  [[nodiscard]] std::size_t reached(std::uint32_t aggregator) const;
  /// The gateway that a node should use: of the aggregator in another process with the fewest clients, but for the one
  /// at `avoid`. Empty: the server's own.
  [[nodiscard]] std::string gateway_for(const std::string& avoid) const;
  /// The same for a node that came to this process's own gateway, aggregator 0, as to that of an aggregator: it is only
  /// sent on to one with fewer clients. Empty: it stays.
  [[nodiscard]] std::string gateway_with_fewer(const std::string& avoid) const;
  /// Where an aggregator that arrives is to attach, when at most `most` (0: any number) beside aggregator 0 do so here:
  /// at the one with an operator port that the fewest were sent to, but for the one at `own`, its own operator port,
  /// from which it comes back unnoticed. Counts it as sent there.
  [[nodiscard]] aggregator_place place_aggregator(std::size_t most, const std::string& own);
  /// Ranges of clients that are attached there and not detached.
  [[nodiscard]] std::vector<client_range> claims(std::uint32_t aggregator) const;
  /// Whether this range is attached anywhere.
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
    std::uint64_t order = 0;  ///< of being told
    std::uint64_t instance = 0;
    [[nodiscard]] std::uint64_t node() const { return instance != 0 ? instance : ~order; }
  };
  struct known_aggregator {
    std::string gateway;
    std::string operators;
    std::size_t clients = 0;
    std::size_t sent_on = 0;  ///< aggregators that were sent there
    std::vector<claim> here;  ///< attached and not detached
  };
  [[nodiscard]] const known_aggregator* least_loaded(const std::string& avoid) const;
  void move(std::uint32_t client, std::uint32_t to, std::uint64_t instance);
  void unroute(std::uint32_t client, virtual_time expected);

  std::vector<std::uint32_t> through_;  ///< aggregator by client, or nowhere
  std::vector<bool> trains_;            ///< by client
  absence_limits waits_;
  std::vector<virtual_time> expected_;   ///< by client: until when, if it is not reached
  std::vector<std::uint64_t> instance_;  ///< by client: of its node, where it is reached
  std::map<std::uint32_t, known_aggregator> aggregators_;
  std::uint32_t next_ = 0;
  std::uint64_t last_claim_ = 0;
  std::size_t reached_ = 0;
};

}  // namespace furlong::federated::protocol
