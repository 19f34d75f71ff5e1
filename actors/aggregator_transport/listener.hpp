// The operator port: where aggregators open links to the server, or to an aggregator above them.
#pragma once

#include <caf/actor_system.hpp>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>

#include "actors/aggregator_transport/link.hpp"
#include "actors/aggregator_transport/link_messages.hpp"
#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Listens from open() until it is closed or destroyed; open links continue. It must end before its actor system.
/// Thread-safe, but not for threads of the actor system.
class operator_listener {
 public:
  /// @param system configured by configure_operator, with or without TLS
  /// @param host an address of this machine, or its name
  /// @param port 0: any free one
  /// @param on_open one call at a time
  /// Errors as of
  /// net::can_listen().
  [[nodiscard]] static result<std::unique_ptr<operator_listener>> open(caf::actor_system& system,
                                                                       const std::string& host, std::uint16_t port,
                                                                       const link_options& options,
                                                                       link_opened_callback on_open);
  ~operator_listener();
  operator_listener(const operator_listener&) = delete;
  operator_listener& operator=(const operator_listener&) = delete;

  [[nodiscard]] std::uint16_t port() const;
  /// Opens no further links; on_open does not run any more when this returns, unless it is the caller.
  void close();

 private:
  class state;
  explicit operator_listener(std::unique_ptr<state> opened);

  std::unique_ptr<state> state_;
};

// The actor behind an operator port.

/// Guards a listener's on_open: it runs once at a time, and not at all after shut(). Thread-safe.
class open_gate {
 public:
  explicit open_gate(link_opened_callback on_open) : on_open_(std::move(on_open)) {}

  /// Events of nobody when it is shut: the channel is not taken, and so is closed.
  [[nodiscard]] net::channel_events opened(const net::channel_ptr& channel) {
    const std::scoped_lock lock(mutex_);
    return on_open_ ? on_open_(channel) : net::channel_events{};
  }
  void shut() {
    const std::scoped_lock lock(mutex_);
    on_open_ = nullptr;
  }

 private:
  std::recursive_mutex mutex_;  ///< on_open may close its listener
  link_opened_callback on_open_;
};

/// Spawns a link for each that a connecting process wants, and answers with it.
acceptor_actor::behavior_type acceptor_behavior(acceptor_actor::pointer self, const link_options& options,
                                                const std::shared_ptr<open_gate>& gate);

}  // namespace furlong::actors::aggregator_transport
