// What serve, aggregate and join have in common.
#pragma once

#include <optional>
#include <string>

#include "actors/net/address.hpp"
#include "actors/tls/credentials.hpp"
#include "tools/cli/commands.hpp"

namespace furlong::tools {

/// Whether a process of a federation may open as many files as it needs at least. Fails with kind runtime.
[[nodiscard]] result<void> check_open_files();

/// "FIRST-LAST" of --clients; the error names it.
[[nodiscard]] result<federated::protocol::client_range> read_clients(const std::string& text);

/// What a process calls itself: the other side refuses a hello with any other name.
[[nodiscard]] result<void> check_name(const std::string& name);

/// "host:port" of an option; the error names it.
[[nodiscard]] result<actors::net::host_port> read_address(const char* option, const std::string& text);

/// Where others reach what listens at `at`: "host:port" of the option, or empty for `at` itself. Errors (usage): it is
/// no address; it names no machine, as 0.0.0.0 does not.
/// @param option "--advertise"
[[nodiscard]] result<void> check_advertised(const char* option, const std::string& text,
                                            const actors::net::host_port& at);

/// Without certificates everything is believed: only on this machine, unless --i-know. `at`: the addresses that are
/// listened at or connected to. Errors have kind usage.
[[nodiscard]] result<void> check_trust(const trust_options& trust, const std::vector<actors::net::host_port>& at);

/// Loads what --tls names, or nothing with --insecure; prints notes.
[[nodiscard]] result<std::optional<actors::tls::operator_credentials>> load_operator(const trust_options& trust);
[[nodiscard]] result<std::optional<actors::tls::node_credentials>> load_node(const trust_options& trust);

/// Whose certificates are to be watched.
[[nodiscard]] std::vector<actors::tls::tier_credentials> tiers_of(
    const std::optional<actors::tls::operator_credentials>& of);
[[nodiscard]] std::vector<actors::tls::tier_credentials> tiers_of(
    const std::optional<actors::tls::node_credentials>& of);

/// The log of a process without a run directory: on stderr.
void log_to_stderr(const std::string& level);

}  // namespace furlong::tools
