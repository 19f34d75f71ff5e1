// This process's TCP connections, from the operating system.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Numeric address of the peer, as net::host_port::text() writes it; empty if the socket is not connected by TCP.
[[nodiscard]] std::string peer_address(int socket);

/// Ends all TCP connections with that address at once, and drops their unsent data. CAF abandons a connection that was
/// silent for too long, but keeps its socket while there is data to send: a system could not end while a peer is
/// stopped or disconnected. Thread-safe.
/// @param peer a result of peer_address()
void cut_connections(const std::string& peer);

/// Ends all unanswered attempts of this process to connect. CAF connects with a blocking call on the thread of all its
/// connections, which would block for two minutes.
void cut_attempts();

// Whether anybody listens at an address.

/// Connects by TCP, and disconnects. The numeric address that answered, as net::host_port::text() writes it. Blocks
/// until the deadline at most, but for the name service, which has times of its own. Needed because CAF connects
/// without a limit of time, one address after the other, and gives no reasons. Errors (runtime): the name is not known;
/// what the operating system says of the last of its addresses; no answer.
result<std::string> probe(const std::string& host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

}  // namespace furlong::actors::aggregator_transport
