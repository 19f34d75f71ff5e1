#include "actors/aggregator_transport/sockets.hpp"

#include <arpa/inet.h>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

namespace furlong::actors::aggregator_transport {

std::string with_port(const std::string& host, std::uint16_t port) {
  return (host.find(':') == std::string::npos ? host : "[" + host + "]") + ":" + std::to_string(port);
}

std::string peer_address(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof(at);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text)) ? with_port(text, ntohs(v4.sin_port)) : "";
  }
  if (at.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
  return ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text)) ? with_port(text, ntohs(v6.sin6_port)) : "";
}

namespace {

/// @param use called with a duplicate of every open descriptor of this process, because a descriptor may be closed and
/// reused at any time
template <class Use>
void for_each_descriptor(const Use& use) {
  std::error_code failed;
  for (std::filesystem::directory_iterator one("/proc/self/fd", failed), end; !failed && one != end;
       one.increment(failed)) {
    const auto name = one->path().filename().string();
    int number = -1;
    std::from_chars(name.data(), name.data() + name.size(), number);
    const int copy = ::fcntl(number, F_DUPFD_CLOEXEC, 0);
    if (copy < 0) continue;
    use(copy);
    ::close(copy);
  }
}

}  // namespace

void cut_connections(const std::string& peer) {
  if (peer.empty()) return;
  for_each_descriptor([&peer](int socket) {
    if (peer_address(socket) == peer) ::shutdown(socket, SHUT_RDWR);
  });
}

void cut_attempts() {
  for_each_descriptor([](int socket) {
    tcp_info about{};
    socklen_t size = sizeof(about);
    if (::getsockopt(socket, IPPROTO_TCP, TCP_INFO, &about, &size) == 0 && about.tcpi_state == TCP_SYN_SENT)
      ::shutdown(socket, SHUT_RDWR);
  });
}

}  // namespace furlong::actors::aggregator_transport
