#include "actors/aggregator_transport/configure.hpp"

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <string>
#include <vector>

#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/tls_guard.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

/// @param into CAF's options; with all of them empty it would encrypt without authentication
result<void> name_file(const char* what, const std::filesystem::path& file, std::string& into) {
  std::error_code none;
  if (file.empty() || !std::filesystem::is_regular_file(file, none))
    return fail(error::kind::usage, file.string(), std::string("the operator ") + what + " is no file",
                "make it with furlong certs issue");
  into = file.string();
  return {};
}

result<void> configure_tls(caf::actor_system_config& config, const operator_files& files,
                           std::chrono::milliseconds timeout) {
  if (auto named = name_file("certificate", files.certificate, config.openssl_certificate); !named) return named;
  if (auto named = name_file("key", files.key, config.openssl_key); !named) return named;
  if (auto named = name_file("authority", files.authority, config.openssl_cafile); !named) return named;
  // Less than the silence after which CAF abandons a connection, but keeps its socket.
  if (auto guarded = guard_connections(files.certificate, timeout * 2 / 3); !guarded) return guarded;
  config.load<caf::openssl::manager>();
  return {};
}

}  // namespace

result<void> configure_operator(caf::actor_system_config& config, const operator_network& network) {
  if (network.heartbeat.count() <= 0 || network.timeout < network.heartbeat)
    return fail(error::kind::usage, "network", "the heartbeat must be positive and not longer than the timeout");
  config.load<caf::io::middleman>();
  if (network.tls) {
    if (auto done = configure_tls(config, *network.tls, network.timeout); !done) return done;
  }
  config.add_message_types<caf::id_block::furlong_links>();
  config.set("middleman.heartbeat-interval", caf::timespan(network.heartbeat));
  config.set("middleman.connection-timeout", caf::timespan(network.timeout));
  // Rejects other programs on CAF at once.
  config.set("middleman.app-identifiers", std::vector<std::string>{"furlong-operator"});
  // The default work-stealing queue is quadratic in the fan-out.
  config.set("scheduler.policy", caf::atom("sharing"));
  config.set("logger.verbosity", caf::atom("quiet"));
  return {};
}

caf::io::middleman_actor network_manager(caf::actor_system& system) {
  return system.has_openssl_manager() ? system.openssl_manager().actor_handle() : system.middleman().actor_handle();
}

}  // namespace furlong::actors::aggregator_transport
