#include "actors/aggregator_transport/sockets.hpp"

#include <algorithm>
#include <arpa/inet.h>
#include <cerrno>
#include <charconv>
#include <fcntl.h>
#include <filesystem>
#include <memory>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "actors/net/address.hpp"

namespace furlong::actors::aggregator_transport {

std::string peer_address(int socket) {
  sockaddr_storage at{};
  socklen_t size = sizeof(at);
  if (::getpeername(socket, reinterpret_cast<sockaddr*>(&at), &size) != 0) return {};
  char text[INET6_ADDRSTRLEN] = {};
  if (at.ss_family == AF_INET) {
    const auto& v4 = reinterpret_cast<const sockaddr_in&>(at);
    return ::inet_ntop(AF_INET, &v4.sin_addr, text, sizeof(text)) ? net::host_port{text, ntohs(v4.sin_port)}.text()
                                                                  : "";
  }
  if (at.ss_family != AF_INET6) return {};
  const auto& v6 = reinterpret_cast<const sockaddr_in6&>(at);
  return ::inet_ntop(AF_INET6, &v6.sin6_addr, text, sizeof(text)) ? net::host_port{text, ntohs(v6.sin6_port)}.text()
                                                                  : "";
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

namespace {

using instant = std::chrono::steady_clock::time_point;

class descriptor {
 public:
  explicit descriptor(int number) : number_(number) {}
  ~descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  descriptor(const descriptor&) = delete;
  descriptor& operator=(const descriptor&) = delete;
  [[nodiscard]] int number() const { return number_; }

 private:
  int number_;
};

/// 0 if the socket is connected, otherwise the error.
int await_connection(int socket, instant deadline) {
  pollfd waiting{socket, POLLOUT, 0};
  int ready = 0;
  do {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - std::chrono::steady_clock::now());
    ready = ::poll(&waiting, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 1'000'000'000)));
  } while (ready < 0 && errno == EINTR);
  if (ready < 0) return errno;
  if (ready == 0) return ETIMEDOUT;
  int failed = 0;
  socklen_t size = sizeof(failed);
  return ::getsockopt(socket, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 ? failed : errno;
}

int connect_to(const addrinfo& address, instant deadline) {
  const descriptor socket(
      ::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (socket.number() < 0) return errno;
  if (::connect(socket.number(), address.ai_addr, address.ai_addrlen) == 0) return 0;
  return errno == EINPROGRESS ? await_connection(socket.number(), deadline) : errno;
}

std::string numeric(const addrinfo& address, std::uint16_t port) {
  char host[NI_MAXHOST] = {};
  return ::getnameinfo(address.ai_addr, address.ai_addrlen, host, sizeof(host), nullptr, 0, NI_NUMERICHOST) == 0
             ? net::host_port{host, port}.text()
             : std::string();
}

}  // namespace

result<std::string> probe(const std::string& host, std::uint16_t port, instant deadline) {
  const auto place = net::host_port{host, port}.text();
  addrinfo wanted{};
  wanted.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int failed = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &wanted, &found); failed != 0)
    return fail(error::kind::runtime, place, std::string("its name does not resolve: ") + ::gai_strerror(failed));
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> addresses(found, &::freeaddrinfo);
  int failed = EADDRNOTAVAIL;
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    failed = connect_to(*one, deadline);
    if (failed == 0) return numeric(*one, port);
  }
  return fail(error::kind::runtime, place, std::system_category().message(failed),
              failed == ECONNREFUSED ? "check that the operator port is open there" : "");
}

}  // namespace furlong::actors::aggregator_transport
