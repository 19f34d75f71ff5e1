// The operator port: where aggregators open links to the server, or to an aggregator above them.
#pragma once

#include <caf/actor_system.hpp>
#include <cstdint>
#include <memory>
#include <string>

#include "actors/aggregator_transport/link.hpp"
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

}  // namespace furlong::actors::aggregator_transport
