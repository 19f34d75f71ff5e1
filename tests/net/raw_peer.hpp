// A peer that does what a test says, however wrong: a plain blocking socket, with TLS on it if wanted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <openssl/ssl.h>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "actors/net/detail/framing.hpp"
#include "actors/net/tls_context.hpp"
#include "base/random.hpp"

namespace furlong::tests {

using bytes = std::vector<std::byte>;

/// Calls return after 10 s at the latest. Not thread-safe.
class raw_peer {
 public:
  /// Connects to this machine. Throws std::runtime_error.
  explicit raw_peer(std::uint16_t port, int receive_buffer = 0);
  /// Likewise, from 127.0.0.`host`.
  static raw_peer from_host(std::uint8_t host, std::uint16_t port);
  /// Takes over a connected socket.
  static raw_peer from_socket(int socket) { return raw_peer(socket, 0, 0); }
  ~raw_peer();
  raw_peer(raw_peer&& other) noexcept;
  raw_peer& operator=(raw_peer&&) = delete;

  /// A handshake without any check of the other side. False when it fails.
  [[nodiscard]] bool secure(const actors::net::tls_context& context);
  /// False when the other side does not take it all.
  bool send(std::span<const std::byte> data);
  /// Up to `most` bytes as they come; empty at the end, on an error, or after 10 s.
  [[nodiscard]] bytes receive(std::size_t most = 65'536);
  /// Reads all until the other side ends; false when it does not.
  [[nodiscard]] bool receive_to_end(bytes& all);
  /// Closes the socket, with a reset when there is something unread.
  void close();
  [[nodiscard]] int socket() const { return socket_; }

 private:
  raw_peer(int socket, int, int);
  struct free_ssl {
    void operator()(SSL* ssl) const { SSL_free(ssl); }
  };
  int socket_;
  std::unique_ptr<SSL, free_ssl> ssl_;
};

/// A listening socket of this machine that nobody serves.
class raw_listener {
 public:
  raw_listener();
  ~raw_listener();
  raw_listener(const raw_listener&) = delete;
  raw_listener& operator=(const raw_listener&) = delete;
  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] raw_peer accept() const;

 private:
  int socket_;
  std::uint16_t port_ = 0;
};

[[nodiscard]] bytes piece(const actors::net::detail::piece_header& header, std::size_t body = 0);
[[nodiscard]] bytes heartbeat();
/// The first piece of a frame of `total` bytes, up to and with the announced length.
[[nodiscard]] bytes announcement(std::uint64_t total, std::uint32_t first_piece = 1 << 20);
/// A whole frame of zeros.
[[nodiscard]] bytes frame_of_zeros(std::size_t size);
[[nodiscard]] bytes operator+(bytes a, const bytes& b);
/// One to `most` random bytes.
[[nodiscard]] bytes noise(random_stream& random, std::size_t most);

}  // namespace furlong::tests
