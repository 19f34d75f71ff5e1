// Makes up for what CAF's TLS connections lack. CAF gives no access to them; but OpenSSL calls whoever asks for it when
// a connection is made, makes progress with its handshake, and is freed.
//
//  - OpenSSL has one queue of errors per thread, and takes an error that it finds there for one of the connection that
//    is asked about. CAF does not empty it: whatever goes wrong with one connection, such as a stranger without a
//    certificate or a peer that was killed, would end others. Here errors leave the queue as they come in.
//  - CAF waits for ever for the handshake of a connection, and turns in circles meanwhile. Here the time for it is
//    limited, and the number of connections that may be at it.
//  - CAF tells neither who the peer is nor why a handshake failed. Here both can be asked for.
#pragma once

#include <chrono>
#include <cstddef>
#include <filesystem>
#include <string>

#include "base/result.hpp"

namespace furlong::actors::aggregator_transport {

/// Accepted connections that may be in their handshake; of more, the oldest is ended.
inline constexpr std::size_t handshakes_at_once = 64;

/// From now on all that is said above holds for every connection of this process that presents the certificate; it also
/// speaks TLS 1.3 only. Other uses of OpenSSL are left alone. Thread-safe.
/// @param handshake how long one may take
/// Errors (data): the file holds no certificate.
result<void> guard_connections(const std::filesystem::path& certificate, std::chrono::milliseconds handshake);

/// The common name in the certificate of the peer of a guarded connection, which was verified; empty when there is no
/// such connection. Thread-safe.
/// @param address "host:port" of the peer, as with_port writes a numeric host
[[nodiscard]] std::string certified_name(const std::string& address);

/// Why a guarded connection with that peer failed since then, in the words of OpenSSL; empty when none did, or no
/// words.
[[nodiscard]] std::string handshake_failure(const std::string& address, std::chrono::steady_clock::time_point since);

}  // namespace furlong::actors::aggregator_transport
