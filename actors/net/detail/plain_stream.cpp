#include <cerrno>
#include <sys/socket.h>
#include <system_error>
#include <utility>

#include "actors/net/detail/stream.hpp"

namespace furlong::actors::net::detail {

io_step stream::fail_with(failure_cause cause, std::string reason, std::string fix) {
  const auto kind = cause == failure_cause::protocol ? error::kind::data : error::kind::runtime;
  problem_ = {cause, {kind, "", std::move(reason), std::move(fix)}};
  return {io_state::failed, 0};
}

io_step stream::fail_with_errno(int number) {
  return fail_with(failure_cause::lost, "the connection was lost: " + std::generic_category().message(number));
}

namespace {

bool would_block(int number) { return number == EAGAIN || number == EWOULDBLOCK; }

class plain_stream final : public stream {
 public:
  explicit plain_stream(int socket) : socket_(socket) {}

  io_step handshake() override { return {io_state::done, 0}; }

  io_step read(std::span<std::byte> into) override {
    for (;;) {
      const auto count = ::recv(socket_, into.data(), into.size(), 0);
      if (count > 0) return {io_state::done, static_cast<std::size_t>(count)};
      if (count == 0) return {io_state::ended, 0};
      if (would_block(errno)) return {io_state::wait_read, 0};
      if (errno != EINTR) return fail_with_errno(errno);
    }
  }

  io_step write(std::span<const std::byte> from) override {
    for (;;) {
      const auto count = ::send(socket_, from.data(), from.size(), MSG_NOSIGNAL);
      if (count >= 0) return {io_state::done, static_cast<std::size_t>(count)};
      if (would_block(errno)) return {io_state::wait_write, 0};
      if (errno != EINTR) return fail_with_errno(errno);
    }
  }

  void finish() override { ::shutdown(socket_, SHUT_WR); }
  [[nodiscard]] std::optional<std::string> peer_name() const override { return std::nullopt; }

 private:
  int socket_;
};

}  // namespace

std::unique_ptr<stream> make_plain_stream(int socket) { return std::make_unique<plain_stream>(socket); }

}  // namespace furlong::actors::net::detail
