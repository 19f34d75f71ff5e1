#include "tests/net/raw_peer.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <csignal>
#include <netinet/in.h>
#include <stdexcept>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <utility>

namespace furlong::tests {

namespace detail = actors::net::detail;

namespace {

sockaddr_in loopback(std::uint16_t port) {
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  at.sin_port = htons(port);
  return at;
}

int connected_socket(std::uint16_t port, int receive_buffer, std::uint8_t host = 1) {
  const int made = ::socket(AF_INET, SOCK_STREAM, 0);
  auto own = loopback(0);
  own.sin_addr.s_addr = htonl((INADDR_LOOPBACK & ~0xFFU) | host);
  if (host != 1 && ::bind(made, reinterpret_cast<const sockaddr*>(&own), sizeof own) != 0) {
    ::close(made);
    throw std::runtime_error("raw_peer: no such address");
  }
  if (receive_buffer > 0) ::setsockopt(made, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  const auto at = loopback(port);
  if (::connect(made, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0) {
    ::close(made);
    throw std::runtime_error("raw_peer: no connection");
  }
  return made;
}

}  // namespace

raw_peer::raw_peer(std::uint16_t port, int receive_buffer) : raw_peer(connected_socket(port, receive_buffer), 0, 0) {}

raw_peer raw_peer::from_host(std::uint8_t host, std::uint16_t port) { return {connected_socket(port, 0, host), 0, 0}; }

raw_peer::raw_peer(int socket, int, int) : socket_(socket) {
  // OpenSSL writes without MSG_NOSIGNAL.
  std::signal(SIGPIPE, SIG_IGN);
  const timeval limit{10, 0};
  ::setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  ::setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

raw_peer::raw_peer(raw_peer&& other) noexcept
    : socket_(std::exchange(other.socket_, -1)), ssl_(std::move(other.ssl_)) {}
raw_peer::~raw_peer() { close(); }

bool raw_peer::secure(const actors::net::tls_context& context) {
  ssl_.reset(SSL_new(context.native()));
  SSL_set_fd(ssl_.get(), socket_);
  return (context.is_server() ? SSL_accept(ssl_.get()) : SSL_connect(ssl_.get())) == 1;
}

bool raw_peer::send(std::span<const std::byte> data) {
  while (!data.empty()) {
    const auto part = std::min<std::size_t>(data.size(), 1 << 20);
    const auto count = ssl_ != nullptr ? SSL_write(ssl_.get(), data.data(), static_cast<int>(part))
                                       : ::send(socket_, data.data(), part, MSG_NOSIGNAL);
    if (count <= 0) return false;
    data = data.subspan(static_cast<std::size_t>(count));
  }
  return true;
}

bytes raw_peer::receive(std::size_t most) {
  bytes got(most);
  const auto count =
      ssl_ != nullptr ? SSL_read(ssl_.get(), got.data(), static_cast<int>(most)) : ::recv(socket_, got.data(), most, 0);
  got.resize(static_cast<std::size_t>(std::max<ssize_t>(count, 0)));
  return got;
}

bool raw_peer::receive_to_end(bytes& all) {
  for (;;) {
    const auto got = receive();
    if (got.empty()) break;
    all.insert(all.end(), got.begin(), got.end());
  }
  // Ended, not only silent: then even the bare socket has nothing more to come.
  std::byte one{};
  ssize_t left = 0;
  while ((left = ::recv(socket_, &one, 1, 0)) > 0) {
  }
  return left == 0 || errno == ECONNRESET;
}

void raw_peer::close() {
  ssl_.reset();
  if (socket_ >= 0) ::close(std::exchange(socket_, -1));
}

raw_listener::raw_listener() : socket_(::socket(AF_INET, SOCK_STREAM, 0)) {
  auto at = loopback(0);
  socklen_t length = sizeof at;
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 || ::listen(socket_, 8) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&at), &length) != 0)
    throw std::runtime_error("raw_listener: cannot listen");
  port_ = ntohs(at.sin_port);
}
raw_listener::~raw_listener() { ::close(socket_); }
raw_peer raw_listener::accept() const { return raw_peer::from_socket(::accept(socket_, nullptr, nullptr)); }

bytes piece(const detail::piece_header& header, std::size_t body) {
  const auto head = detail::encode(header);
  bytes all(head.begin(), head.end());
  all.resize(all.size() + body);
  return all;
}
bytes heartbeat() { return piece({0, true, detail::piece_kind::heartbeat}); }
bytes announcement(std::uint64_t total, std::uint32_t first_piece) {
  const auto length = detail::encode_total(total);
  return piece({first_piece, false, detail::piece_kind::data}) + bytes(length.begin(), length.end());
}
bytes frame_of_zeros(std::size_t size) {
  if (size <= detail::largest_piece) return piece({static_cast<std::uint32_t>(size)}, size);
  auto all = announcement(size) + bytes(detail::largest_piece);
  for (auto left = size - detail::largest_piece; left > 0;) {
    const auto part = std::min(left, detail::largest_piece);
    left -= part;
    all = std::move(all) + piece({static_cast<std::uint32_t>(part), left == 0, detail::piece_kind::data}, part);
  }
  return all;
}
bytes operator+(bytes a, const bytes& b) {
  a.insert(a.end(), b.begin(), b.end());
  return a;
}
bytes noise(random_stream& random, std::size_t most) {
  bytes made(1 + random.below(static_cast<std::uint32_t>(most)));
  for (auto& byte : made) byte = static_cast<std::byte>(random());
  return made;
}

}  // namespace furlong::tests
