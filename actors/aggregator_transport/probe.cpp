#include "actors/aggregator_transport/probe.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <memory>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <system_error>
#include <unistd.h>

#include "actors/aggregator_transport/sockets.hpp"

namespace furlong::actors::aggregator_transport {

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
             ? with_port(host, port)
             : std::string();
}

}  // namespace

result<std::string> probe(const std::string& host, std::uint16_t port, instant deadline) {
  const auto place = with_port(host, port);
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
