#include "tools/dashboard/detail/deadline_stream.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>
#include <sys/socket.h>
#include <unistd.h>

namespace furlong::tools::dashboard {

namespace {

using namespace std::chrono_literals;

constexpr auto look_up_every = 100ms;        // whether the server stops
constexpr auto linger = 500ms;               // for a client that still sends
constexpr std::size_t most_linger = 65'536;  // bytes

constexpr std::string_view too_slow = "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";
constexpr std::string_view too_large =
    "HTTP/1.1 431 Request Header Fields Too Large\r\nConnection: close\r\nContent-Length: 0\r\n\r\n";

bool poll_once(int socket, short what, std::chrono::milliseconds longest) {
  pollfd one{socket, what, 0};
  return ::poll(&one, 1, static_cast<int>(longest.count())) > 0;
}

}  // namespace

deadline_stream::deadline_stream(int socket, const http_limits& limits, const std::atomic<bool>& stopping,
                                 const std::atomic<std::size_t>& waiting)
    : socket_(socket),
      limits_(limits),
      stopping_(stopping),
      waiting_(waiting),
      until_(clock::now() + limits.to_ask),
      until_when_busy_(clock::now() + limits.to_ask_when_busy) {}

deadline_stream::~deadline_stream() {
  // Closed with bytes unread, the connection would be reset, and the answer may be lost with it.
  ::shutdown(socket_, SHUT_WR);
  const auto until = clock::now() + (waiting_ > 0 ? 0ms : linger);
  for (std::size_t drained = 0; drained < most_linger && clock::now() < until && !stopping_;) {
    if (!poll_once(socket_, POLLIN, look_up_every)) continue;
    const auto got = ::recv(socket_, buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (got <= 0) break;
    drained += static_cast<std::size_t>(got);
  }
  ::close(socket_);
}

bool deadline_stream::wait_for(short what) const {
  while (!stopping_) {
    const auto now = clock::now();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until_ - now);
    if (left <= 0ms) return false;
    // What has come is still taken: it is only waiting that ends.
    if (waiting_ > 0 && now >= until_when_busy_) return poll_once(socket_, what, 0ms);
    if (poll_once(socket_, what, std::min<std::chrono::milliseconds>(left, look_up_every))) return true;
  }
  return false;
}

bool deadline_stream::fill() {
  if (taken_ >= limits_.request) {
    failure_ = failure::large;
    return false;
  }
  if (!wait_for(POLLIN)) {
    failure_ = failure::slow;
    return false;
  }
  const auto room = std::min(buffer_.size(), limits_.request - taken_);
  const auto got = ::recv(socket_, buffer_.data(), room, MSG_DONTWAIT);
  if (got <= 0) {
    failure_ = failure::closed;
    return false;
  }
  at_ = 0;
  filled_ = static_cast<std::size_t>(got);
  taken_ += filled_;
  return true;
}

ssize_t deadline_stream::read(char* to, std::size_t size) {
  if (failure_ != failure::none) return -1;
  if (at_ == filled_ && !fill()) return -1;
  const auto count = std::min(size, filled_ - at_);
  std::memcpy(to, buffer_.data() + at_, count);
  at_ += count;
  return static_cast<ssize_t>(count);
}

bool deadline_stream::send_all(const char* from, std::size_t size) {
  while (size > 0) {
    if (!wait_for(POLLOUT)) return false;
    const auto sent = ::send(socket_, from, size, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && (errno == EAGAIN || errno == EINTR)) continue;
    if (sent <= 0) return false;
    from += sent;
    size -= static_cast<std::size_t>(sent);
  }
  return true;
}

ssize_t deadline_stream::write(const char* from, std::size_t size) {
  if (failure_ != failure::none) return -1;
  if (!answering_) {
    answering_ = true;
    until_ = clock::now() + limits_.to_listen;
    until_when_busy_ = clock::now() + limits_.to_listen_when_busy;
  }
  if (send_all(from, size)) return static_cast<ssize_t>(size);
  failure_ = failure::closed;
  return -1;
}

void deadline_stream::answer_failure() {
  if (failure_ != failure::slow && failure_ != failure::large) return;
  until_ = until_when_busy_ = clock::now() + look_up_every;
  const auto what = failure_ == failure::slow ? too_slow : too_large;
  static_cast<void>(send_all(what.data(), what.size()));
}

// Nobody asks who it is: the library only puts it into headers that nothing reads.
void deadline_stream::get_remote_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}
void deadline_stream::get_local_ip_and_port(std::string& ip, int& port) const {
  ip.clear();
  port = 0;
}

}  // namespace furlong::tools::dashboard
