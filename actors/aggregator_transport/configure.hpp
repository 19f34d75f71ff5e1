// Configures an actor system for operator links; one system per process is enough for these and all other actors.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// PEM files that were checked to be readable and to match (actors/tls/credentials.hpp): with a wrong key CAF would
/// abort the process at the first connection.
struct operator_files {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;  ///< of the operator tier: all its certificates are trusted
};

struct operator_network {
  /// Without it connections are neither encrypted nor authenticated: any 32 bytes from a peer can end the process.
  std::optional<operator_files> tls;
  /// Interval of heartbeats on an idle connection.
  std::chrono::milliseconds heartbeat{2000};
  /// A connection without input for this time is closed: within heartbeat + timeout after the last byte.
  std::chrono::milliseconds timeout{3000};
};

/// Call it before the actor system is made. All processes of a federation should have the same times. Errors (usage): a
/// file is not given or does not exist (the system would start without it and trust every peer); times that are not
/// positive, or a timeout shorter than a heartbeat.
result<void> configure_operator(caf::actor_system_config& config, const operator_network& network);

/// The actor that makes connections in such a system, with TLS or without.
[[nodiscard]] caf::io::middleman_actor network_manager(caf::actor_system& system);

}  // namespace furlong::actors::aggregator_transport
