// What the operating system knows about this process' TCP connections.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// "host:port" or "[host]:port".
[[nodiscard]] std::string with_port(const std::string& host, std::uint16_t port);

/// Numeric address of the other end, as with_port writes it; empty when the socket is not connected by TCP.
[[nodiscard]] std::string peer_address(int socket);

/// Ends all TCP connections with that address at once, and drops what they have to send. CAF gives a connection up that
/// was silent for too long, but keeps its socket as long as there is something to send: a system could not end while a
/// peer is stopped or cut off. Thread-safe.
/// @param peer as peer_address gives it
void cut_connections(const std::string& peer);

/// Ends every attempt of this process to connect that nobody has answered. CAF connects with a blocking call, on the
/// one thread that all its connections need: the kernel would hold it for two minutes.
void cut_attempts();

// Whether anybody listens at an address.

/// Connects by TCP, and disconnects. The numeric address that answered, as with_port() writes it. Blocks until the
/// deadline at most, but for the name service, which has times of its own. Needed because CAF connects without a limit
/// of time, one address after the other, and tells no reasons. Errors (runtime): the name is not known; what the
/// operating system says of the last of its addresses; no answer.
result<std::string> probe(const std::string& host, std::uint16_t port, std::chrono::steady_clock::time_point deadline);

}  // namespace furlong::actors::aggregator_transport
