#include "actors/net/detail/session.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <limits>
#include <sys/socket.h>
#include <utility>

namespace furlong::actors::net::detail {

namespace {

/// Calls a user's callback: its exceptions must not leave a transport's thread.
template <class Call>
bool guarded(Call call) {
  try {
    call();
    return true;
  } catch (...) {
    return false;
  }
}

}  // namespace

session::session(session_parts parts)
    : core_(std::move(parts.core)),
      socket_(std::move(parts.socket)),
      timer_(socket_.get_executor()),
      stream_(std::move(parts.bytes)),
      other_(std::move(parts.other)),
      server_(parts.server),
      secured_(parts.secured),
      settings_(parts.settings),
      room_(std::move(parts.room)),
      hooks_(std::move(parts.hooks)),
      reader_(settings_.max_message, room_ != nullptr ? small_frame : std::numeric_limits<std::size_t>::max()),
      max_message_(server_ ? std::min(settings_.max_message, settings_.max_first) : settings_.max_message) {}

void session::start() {
  const bool may = core_->add(shared_from_this());
  asio::post(socket_.get_executor(), [self = shared_from_this(), may] {
    if (may) return self->begin();
    self->end(failed_by(failure_cause::stopped, "the transport ended"), closing::drop);
  });
}

void session::abort() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    self->end(failed_by(failure_cause::stopped, "the transport ended"), closing::tell);
    self->close_socket();
  });
}

void session::begin() {
  if (stage_ != stage::handshake) return;
  born_ = clock::now();
  arm();
  step_handshake();
}

void session::step_handshake() {
  const auto step = stream_->handshake();
  switch (step.state) {
    case io_state::done: return on_handshaken();
    case io_state::ended:
      return end(failed_by(failure_cause::lost, "the other side ended the connection during the handshake"),
                 closing::drop);
    case io_state::failed: return end(stream_->problem(), closing::none);
    case io_state::wait_read:
    case io_state::wait_write: break;
  }
  const auto what = step.state == io_state::wait_read ? tcp::socket::wait_read : tcp::socket::wait_write;
  socket_.async_wait(what, [self = shared_from_this()](const error_code& failed) {
    if (self->stage_ == stage::handshake && !failed) self->step_handshake();
  });
}

void session::on_handshaken() {
  stage_ = stage::greeting;
  last_in_ = last_out_ = heartbeat_at_ = out_moved_ = clock::now();
  if (secured_) {
    auto name = stream_->peer_name();
    if (!name && server_)
      return end(failed_by(failure_cause::rejected, "the certificate has no common name, or one that cannot be read"),
                 closing::tell);
    other_.name = std::move(name).value_or("");
  }
  if (hooks_.judge) {
    std::optional<std::string> why_not = "it could not be judged";
    guarded([&] { why_not = hooks_.judge(other_); });
    if (why_not) return end(failed_by(failure_cause::rejected, *why_not), closing::tell);
  }
  // A TLS server detects a peer without TLS only after 11 bytes: three heartbeats.
  const int signs = secured_ || server_ ? 1 : 3;
  for (int i = 0; i < signs; ++i) writer_.push_heartbeat(piece_kind::heartbeat);
  if (server_) open();
  pump_out();
  pump_in();
}

void session::open() {
  stage_ = stage::open;
  opened_ = true;
  if (hooks_.on_handshaken) std::exchange(hooks_.on_handshaken, nullptr)();
  if (!guarded([&] { events_ = hooks_.on_open(shared_from_this()); }))
    return end(failed_by(failure_cause::lost, "the connection has no handler"), closing::tell);
  hooks_.on_open = nullptr;
  hooks_.on_failed = nullptr;
  hooks_.judge = nullptr;
  arm();
}

void session::close() {
  if (closed_.exchange(true)) return;
  later([](session& self) { self.start_flushing(); });
}

void session::start_flushing() {
  if (stage_ >= stage::flushing) return;
  if (stage_ != stage::open) return end(failed_by(failure_cause::lost, "closed by this side"), closing::drop);
  take_inbox();
  stage_ = stage::flushing;
  flush_until_ = clock::now() + settings_.linger;
  writer_.push_close("");
  arm();
  pump_out();
}

void session::end(connect_failure why, closing how) {
  if (stage_ >= stage::draining) return;
  const bool speaks = stage_ != stage::handshake;
  stage_ = stage::draining;
  closed_ = true;
  if (asking_) room_->cancel(ticket_);
  asking_ = false;
  reader_.drop();
  {
    const std::lock_guard lock(mutex_);
    inbox_.clear();
  }
  if (how == closing::tell && speaks) {
    send_reason(why.what.reason);
  } else {
    writer_.abandon();
  }
  queued_ = 0;
  report(why);
  if (how == closing::drop) return close_socket();
  stream_->finish();
  timer_.expires_after(settings_.linger);
  timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
    if (!stopped) self->close_socket();
  });
  drain();
}

void session::send_reason(const std::string& why) {
  if (!writer_.abandon()) return;
  writer_.push_close(why);
  const auto step = stream_->write(writer_.next());
  if (step.state == io_state::done) writer_.consumed(step.bytes);
  writer_.abandon();
}

void session::report(const connect_failure& why) {
  if (hooks_.on_handshaken) std::exchange(hooks_.on_handshaken, nullptr)();
  // Callbacks may hold the channel: release them.
  const auto events = std::exchange(events_, {});
  const auto on_failed = std::exchange(hooks_.on_failed, nullptr);
  hooks_.on_open = nullptr;
  hooks_.judge = nullptr;
  if (opened_) {
    if (events.on_closed) guarded([&] { events.on_closed(why.what); });
  } else if (on_failed) {
    guarded([&] { on_failed(other_, why); });
  }
}

void session::drain() {
  constexpr int turns = 8;
  std::array<std::byte, 16 << 10> dropped;
  for (int turn = 0; turn < turns && stage_ == stage::draining; ++turn) {
    const auto count = ::recv(socket_.native_handle(), dropped.data(), dropped.size(), MSG_DONTWAIT);
    if (count > 0 || (count < 0 && errno == EINTR)) continue;
    if (count == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) return close_socket();
    break;
  }
  if (stage_ != stage::draining) return;
  socket_.async_wait(tcp::socket::wait_read, [self = shared_from_this()](const error_code& failed) {
    if (self->stage_ == stage::draining && !failed) self->drain();
  });
}

void session::close_socket() {
  if (stage_ == stage::gone) return;
  stage_ = stage::gone;
  timer_.cancel();
  error_code ignored;
  socket_.close(ignored);
  core_->remove(this);
  const auto hooks = std::exchange(hooks_, {});
  if (hooks.on_gone) hooks.on_gone();
}

}  // namespace furlong::actors::net::detail
