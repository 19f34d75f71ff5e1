// What the server knows of the clients' presence.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "federated/settings/virtual_time.hpp"

namespace furlong::federated::protocol {

/// The clients that the server can reach.
class roster {
 public:
  virtual ~roster() = default;
  /// A round begins: the round that makes version `version` + 1.
  virtual void on_round(std::uint64_t version, virtual_time now) = 0;
  /// True if a client without a task can be selected now.
  [[nodiscard]] virtual bool reachable(std::uint32_t client, virtual_time now, std::uint64_t version) = 0;
  /// True if other clients may become reachable in the same round.
  [[nodiscard]] virtual bool waiting_helps() const = 0;
  /// If it can be foreseen when reachable() gives another answer for a client: a number that changes when what was
  /// foreseen no longer holds.
  [[nodiscard]] virtual std::optional<std::uint64_t> foresight() const { return std::nullopt; }
  /// The first instant after `now` at which reachable() gives another answer in that round; `now` if it cannot be
  /// foreseen.
  [[nodiscard]] virtual virtual_time reachable_until(std::uint32_t client, virtual_time now,
                                                     std::uint64_t version) const {
    static_cast<void>(client), static_cast<void>(version);
    return now;
  }

  /// True if each client is reached through one aggregator. If not, any of `settings.topology->aggregators` may be
  /// used.
  [[nodiscard]] virtual bool routes() const { return false; }
  /// The aggregator through which a client is reached now.
  [[nodiscard]] virtual std::optional<std::uint32_t> route(std::uint32_t client) const {
    static_cast<void>(client);
    return std::nullopt;
  }
  /// The time until which a disconnected client is expected to return; in the past: it is not.
  [[nodiscard]] virtual virtual_time expected_until(std::uint32_t client) const {
    static_cast<void>(client);
    return 0;
  }
  /// The process that hosts a connected client: another process has lost this one's tasks. Never 0.
  [[nodiscard]] virtual std::uint64_t instance(std::uint32_t client) const {
    static_cast<void>(client);
    return 0;
  }
  /// Connected aggregators, ascending. Numbers are never reused.
  [[nodiscard]] virtual std::vector<std::uint32_t> aggregators() const { return {}; }
};

}  // namespace furlong::federated::protocol
