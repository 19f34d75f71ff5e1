// Where the clients of a federation are reached: through which aggregator, which they reach through nodes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "federated/protocol/messages.hpp"
#include "federated/protocol/server_machine.hpp"

namespace furlong::federated::protocol {

/// The server's roster under the real clock. One thread at a time.
class directory final : public roster {
 public:
  /// @param clients how many there can be, at all
  /// @param training those that the server may ask; kept as a reference
  directory(std::size_t clients, std::span<const std::uint32_t> training);

  /// Takes a new aggregator in. `gateway` is the "host:port" where nodes reach it; empty: this process itself.
  /// @return its number, never used before
  [[nodiscard]] std::uint32_t add_aggregator(std::string gateway);
  /// It is gone, and with it the way to its clients.
  void remove_aggregator(std::uint32_t number);
  /// These clients are reached there now, wherever they were before. False when there are none of these numbers.
  [[nodiscard]] bool attach(std::uint32_t aggregator, client_range clients);
  /// They are not, unless they are reached elsewhere: what is told of a node by two aggregators may come in any order,
  /// so the way that was told of last before this one is taken again.
  void detach(std::uint32_t aggregator, client_range clients);

  /// Training clients that are reached now.
  [[nodiscard]] std::size_t reached() const { return reached_; }
  /// Clients that are reached through an aggregator now.
  [[nodiscard]] std::size_t reached(std::uint32_t aggregator) const;
  /// The gateway that a node should use: of the aggregator in another process with the fewest clients, but for the one
  /// at `avoid`. Empty: the server's own.
  [[nodiscard]] std::string gateway_for(const std::string& avoid) const;

  void on_round(std::uint64_t, virtual_time) override {}
  [[nodiscard]] bool reachable(std::uint32_t client, virtual_time, std::uint64_t) override {
    return route(client).has_value();
  }
  [[nodiscard]] bool waiting_helps() const override { return true; }
  [[nodiscard]] bool routes() const override { return true; }
  [[nodiscard]] std::optional<std::uint32_t> route(std::uint32_t client) const override;
  [[nodiscard]] std::vector<std::uint32_t> aggregators() const override;

 private:
  struct claim {
    client_range clients;
    std::uint64_t order = 0;  ///< of being told
  };
  struct known_aggregator {
    std::string gateway;
    std::size_t clients = 0;
    std::vector<claim> here;  ///< attached and not detached
  };
  void move(std::uint32_t client, std::uint32_t to);
  void let_go(std::uint32_t client);

  std::vector<std::uint32_t> through_;  ///< aggregator by client, or nowhere
  std::vector<bool> trains_;            ///< by client
  std::map<std::uint32_t, known_aggregator> aggregators_;
  std::uint32_t next_ = 0;
  std::uint64_t told_ = 0;
  std::size_t reached_ = 0;
};

}  // namespace furlong::federated::protocol
