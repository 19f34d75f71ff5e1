// Makes an actor system fit for operator links: one system per process is enough for these and for everything else.
#pragma once

#include <caf/actor_system_config.hpp>
#include <caf/io/middleman_actor.hpp>
#include <chrono>
#include <filesystem>
#include <optional>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// PEM files that were checked to be readable and to fit each other (actors/tls/credentials.hpp): with a key that does
/// not fit, CAF would abort the process at the first connection.
struct operator_files {
  std::filesystem::path certificate;
  std::filesystem::path key;
  std::filesystem::path authority;  ///< of the operator tier: whoever it certified is trusted
};

struct operator_network {
  /// Without, connections are neither encrypted nor authenticated: any 32 bytes from a stranger can end the process.
  std::optional<operator_files> tls;
  /// A process that says nothing else says this often that it lives.
  std::chrono::milliseconds heartbeat{2000};
  /// When nothing at all came for so long, the connection is closed: within heartbeat + timeout after the last byte.
  std::chrono::milliseconds timeout{3000};
};

/// Call it before the actor system is made. All processes of a federation should have the same times.
/// Errors (usage): a file is not named or does not exist, though the system would start with it missing and trust
/// anyone; times that are not positive, or a timeout shorter than a heartbeat.
result<void> configure_operator(caf::actor_system_config& config, const operator_network& network);

/// What makes connections in a system so configured, with TLS or without.
[[nodiscard]] caf::io::middleman_actor network_manager(caf::actor_system& system);

}  // namespace furlong::actors::aggregator_transport
