// Common code of serve, aggregate and join.
#pragma once

#include <optional>
#include <string>

#include "actors/net/address.hpp"
#include "actors/tls/credentials.hpp"
#include "tools/cli/command_options.hpp"

namespace furlong::tools {

/// Checks that a process of a federation may open enough files. Fails with kind runtime.
[[nodiscard]] result<void> check_open_files();

/// "FIRST-LAST" of --clients; the error names it.
[[nodiscard]] result<federated::client_range> read_clients(const std::string& text);

/// The name of a process: the other side rejects a hello with an invalid name.
[[nodiscard]] result<void> check_name(const std::string& name);

/// "host:port" of an option; the error names it.
[[nodiscard]] result<actors::net::host_port> read_address(const char* option, const std::string& text);

/// The address at which others reach a listener: "host:port" of the option, or `listening` if empty. Errors (usage):
/// not an address; a wildcard address such as 0.0.0.0.
/// @param option "--advertise"
[[nodiscard]] result<void> check_advertised(const char* option, const std::string& text,
                                            const actors::net::host_port& listening);

/// Without certificates no peer is authenticated: allowed only on this machine, unless --i-know. `addresses` are those
/// of listeners and connections. Errors have kind usage.
[[nodiscard]] result<void> check_trust(const trust_options& trust,
                                       const std::vector<actors::net::host_port>& addresses);

/// Loads the --tls folder, or nothing with --insecure; prints notes.
[[nodiscard]] result<std::optional<actors::tls::operator_credentials>> load_operator(const trust_options& trust);
[[nodiscard]] result<std::optional<actors::tls::node_credentials>> load_node(const trust_options& trust);

/// The certificates to watch for expiry.
[[nodiscard]] std::vector<actors::tls::tier_credentials> tiers_of(
    const std::optional<actors::tls::operator_credentials>& credentials);
[[nodiscard]] std::vector<actors::tls::tier_credentials> tiers_of(
    const std::optional<actors::tls::node_credentials>& credentials);

/// The log of a process without a run directory, on stderr.
void log_to_stderr(const std::string& level);

}  // namespace furlong::tools
