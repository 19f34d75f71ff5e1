// Works around limitations of CAF's TLS connections. CAF gives no access to them, but OpenSSL has callbacks when a
// context is created, and when a connection progresses in its handshake and is freed.
//
//  - OpenSSL has one queue of errors per thread, and takes an error that it finds there for one of the connection that
//    is asked about. CAF does not empty it: whatever goes wrong with one connection, such as a stranger without a
//    certificate or a peer that was killed, would end others. Here errors leave the queue as they come in.
//  - CAF waits forever for the handshake of a connection, and turns in circles meanwhile. Here the time for it is
//    limited, and the number of connections that may be at it.
//  - CAF reports neither the peer's identity nor why a handshake failed. Here both can be asked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Maximum of accepted connections in their handshake; beyond that the oldest is ended.
inline constexpr std::size_t handshakes_at_once = 64;

/// Guards every future connection of this process that presents the certificate, and restricts it to TLS 1.3. Other
/// uses of OpenSSL are not affected. Thread-safe.
/// @param handshake maximum time of a handshake
/// Errors (data): the file
/// holds no certificate.
result<void> guard_connections(const std::filesystem::path& certificate, std::chrono::milliseconds handshake);

/// The verified common name of the peer of a guarded connection; empty if there is no such connection. Thread-safe.
/// @param address "host:port" of the peer with a numeric host, as net::host_port::text() writes it
[[nodiscard]] std::string certified_name(const std::string& address);

/// Why a guarded connection with that peer failed since then, as reported by OpenSSL; empty if none failed, or without
/// a reason.
[[nodiscard]] std::string handshake_failure(const std::string& address, std::chrono::steady_clock::time_point since);

}  // namespace furlong::actors::aggregator_transport
