// Accepts connections of nodes or aggregators within limits, and opens channels for admitted ones.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "actors/net/address.hpp"
#include "actors/net/budget.hpp"
#include "actors/net/channel.hpp"
#include "actors/net/tls_context.hpp"
#include "actors/net/transport.hpp"

namespace furlong::actors::net {

struct listener_limits {
  std::size_t connections = 4096;  ///< in all; further ones are closed at once
  std::size_t per_address = 1024;  ///< likewise, from one address or IPv6 network (/64)
  std::size_t handshakes = 128;    ///< in progress; further connections wait in the system's queue; 0: all of them
  std::size_t handshakes_per_address = 16;  ///< further ones are closed at once: nodes retry
};

struct listener_settings {
  channel_settings channel;
  listener_limits limits;
  budget_ptr room;  ///< for large frames of all channels; null: unlimited
};

/// Called from the transport's threads, also concurrently for different connections: must not block.
struct listener_events {
  /// After the handshake, before a byte of a frame is read: the reason to reject this peer, if any, which is sent to
  /// it. May be empty.
  std::function<std::optional<std::string>(const peer&)> accept_peer;
  /// A channel is open. Returns its callbacks: no frame is missed. Required.
  std::function<channel_events(channel_ptr)> on_open;
  /// A peer was not admitted: for the log and the counters. May be empty.
  std::function<void(const peer&, const connect_failure&)> on_refused;
};

/// Listens during its lifetime. Channels outlive it.
class listener {
 public:
  /// @param at  port 0: the system chooses one; "[::]" also takes IPv4
  /// @param tls a server's; nullopt: plain TCP, for trusted machines only
  /// Errors as of bind_socket(); usage: limits or a budget below max_message.
  [[nodiscard]] static result<std::unique_ptr<listener>> open(transport& on, const host_port& at,
                                                              std::optional<tls_context> tls,
                                                              const listener_settings& settings,
                                                              listener_events events);
  ~listener();
  listener(const listener&) = delete;
  listener& operator=(const listener&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  /// Settings for future connections. Errors as for open(); the settings are then unchanged.
  [[nodiscard]] result<void> use(const listener_settings& settings);
  /// Current number of connections, open or in the handshake.
  [[nodiscard]] std::size_t connections() const;

 private:
  class acceptor;
  listener(std::shared_ptr<acceptor> inner, std::uint16_t port) : inner_(std::move(inner)), port_(port) {}

  std::shared_ptr<acceptor> inner_;
  std::uint16_t port_;
};

}  // namespace furlong::actors::net
