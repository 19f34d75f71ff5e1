// This process's TCP connections, from the operating system.
#pragma once

#include <cstdint>
#include <string>

namespace furlong::actors::aggregator_transport {

/// "host:port" or "[host]:port".
[[nodiscard]] std::string with_port(const std::string& host, std::uint16_t port);

/// Numeric address of the peer, in the format of with_port(); empty if the socket is not connected by TCP.
[[nodiscard]] std::string peer_address(int socket);

/// Ends all TCP connections with that address at once, and drops their unsent data. CAF abandons a connection that was
/// silent for too long, but keeps its socket while there is data to send: a system could not end while a peer is
/// stopped or disconnected. Thread-safe.
/// @param peer a result of peer_address()
void cut_connections(const std::string& peer);

/// Ends all unanswered attempts of this process to connect. CAF connects with a blocking call on the thread of all its
/// connections, which would block for two minutes.
void cut_attempts();

}  // namespace furlong::actors::aggregator_transport
