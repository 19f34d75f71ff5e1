#include "actors/net/listener.hpp"

#include <atomic>
#include <chrono>
#include <map>
#include <utility>

#include "actors/net/bind_socket.hpp"
#include "actors/net/detail/io_core.hpp"
#include "actors/net/detail/origin.hpp"
#include "actors/net/detail/session.hpp"

namespace furlong::actors::net {

using detail::error_code;
using detail::asio::ip::tcp;

namespace {

/// Pause after an error of accept(), such as a lack of file descriptors, which an immediate retry does not fix.
constexpr std::chrono::milliseconds pause_after_error{100};

std::string text_of(const tcp::endpoint& end) {
  return host_port{detail::unmapped(end.address()).to_string(), end.port()}.text();
}

result<void> check(const listener_settings& settings, const std::string& place) {
  if (settings.room == nullptr || settings.room->capacity() >= settings.channel.max_message) return {};
  return fail(error::kind::usage, place, "the budget for large frames is smaller than one frame may be",
              "raise it, or lower max_message");
}

}  // namespace

/// Runs on its own strand, like each session.
class listener::acceptor final : public detail::endable, public std::enable_shared_from_this<acceptor> {
 public:
  acceptor(std::shared_ptr<detail::io_core> core, std::optional<tls_context> tls, listener_settings settings,
           listener_events events)
      : core_(std::move(core)),
        socket_(core_->strand()),
        timer_(socket_.get_executor()),
        tls_(std::move(tls)),
        settings_(std::move(settings)),
        events_(std::make_shared<const listener_events>(std::move(events))) {}

  result<std::uint16_t> bind(const host_port& at) { return bind_socket(socket_, at); }
  bool start();
  void use(const listener_settings& settings);
  void abort() override;
  [[nodiscard]] std::size_t connections() const { return connections_; }

 private:
  void accept();
  void on_accepted(const error_code& failed, tcp::socket socket);
  void start_session(tcp::socket socket, const tcp::endpoint& from);
  void refuse(const tcp::endpoint& from, std::string why);
  detail::session_hooks hooks_for(const std::string& origin);
  template <class Work>
  std::function<void()> on_strand(Work work);

  std::shared_ptr<detail::io_core> core_;  // first, so that it outlives the socket
  tcp::acceptor socket_;
  detail::asio::steady_timer timer_;
  const std::optional<tls_context> tls_;
  listener_settings settings_;
  const std::shared_ptr<const listener_events> events_;
  std::atomic<std::size_t> connections_{0};
  std::size_t handshakes_ = 0;
  struct share {
    std::size_t connections = 0;
    std::size_t handshakes = 0;  ///< among them
  };
  std::map<std::string, share> by_origin_;  ///< none without connections
  bool accepting_ = false;
  bool ended_ = false;
};

bool listener::acceptor::start() {
  if (!core_->add(shared_from_this())) return false;
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] { self->accept(); });
  return true;
}

void listener::acceptor::use(const listener_settings& settings) {
  boost::asio::post(socket_.get_executor(), [self = shared_from_this(), settings] {
    self->settings_ = settings;
    self->accept();
  });
}

void listener::acceptor::abort() {
  boost::asio::post(socket_.get_executor(), [self = shared_from_this()] {
    if (std::exchange(self->ended_, true)) return;
    error_code ignored;
    self->socket_.close(ignored);
    self->timer_.cancel();
    self->core_->remove(self.get());
  });
}

void listener::acceptor::accept() {
  if (accepting_ || ended_ || handshakes_ >= settings_.limits.handshakes) return;
  accepting_ = true;
  socket_.async_accept(core_->strand(), [self = shared_from_this()](const error_code& failed, tcp::socket socket) {
    self->accepting_ = false;
    self->on_accepted(failed, std::move(socket));
  });
}

void listener::acceptor::on_accepted(const error_code& failed, tcp::socket socket) {
  if (ended_) return;
  if (failed) {
    timer_.expires_after(pause_after_error);
    timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
      if (!stopped) self->accept();
    });
    return;
  }
  error_code failed_lookup;
  const auto from = socket.remote_endpoint(failed_lookup);
  if (!failed_lookup) start_session(std::move(socket), from);
  accept();
}

void listener::acceptor::refuse(const tcp::endpoint& from, std::string why) {
  if (!events_->on_refused) return;
  events_->on_refused({"", text_of(from)}, failed_by(failure_cause::rejected, std::move(why)));
}

void listener::acceptor::start_session(tcp::socket socket, const tcp::endpoint& from) {
  const auto origin = detail::origin_of(from.address());
  if (connections_ >= settings_.limits.connections) return refuse(from, "too many connections");
  const auto known = by_origin_.find(origin);
  const auto of_origin = known == by_origin_.end() ? share{} : known->second;
  if (of_origin.connections >= settings_.limits.per_address) return refuse(from, "too many connections from " + origin);
  // Otherwise silent connections of one address would block all others.
  if (of_origin.handshakes >= settings_.limits.handshakes_per_address)
    return refuse(from, "too many handshakes at once from " + origin);
  error_code failed;
  socket.non_blocking(true, failed);
  if (!failed) socket.set_option(tcp::no_delay(true), failed);
  auto bytes = tls_ ? detail::make_tls_stream(socket.native_handle(), *tls_, "")
                    : detail::make_plain_stream(socket.native_handle());
  if (failed || bytes == nullptr) return refuse(from, "no memory for a connection");
  ++connections_;
  ++handshakes_;
  ++by_origin_[origin].connections;
  ++by_origin_[origin].handshakes;
  const peer other{"", text_of(from)};
  detail::session_parts parts{
      core_,          std::move(socket), std::move(bytes), other, true, tls_.has_value(), settings_.channel,
      settings_.room, hooks_for(origin)};
  std::make_shared<detail::session>(std::move(parts))->start();
}

/// A callback for a session that runs `work` here, if the listener still exists.
template <class Work>
std::function<void()> listener::acceptor::on_strand(Work work) {
  return [weak = weak_from_this(), work] {
    if (const auto self = weak.lock())
      boost::asio::post(self->socket_.get_executor(), [weak, work] {
        if (const auto still = weak.lock()) work(*still);
      });
  };
}

detail::session_hooks listener::acceptor::hooks_for(const std::string& origin) {
  detail::session_hooks hooks;
  hooks.judge = [events = events_](const peer& who) {
    return events->accept_peer ? events->accept_peer(who) : std::nullopt;
  };
  hooks.on_handshaken = on_strand([origin](acceptor& self) {
    --self.handshakes_;
    --self.by_origin_.at(origin).handshakes;
    self.accept();
  });
  hooks.on_open = [events = events_](channel_ptr opened) { return events->on_open(std::move(opened)); };
  hooks.on_failed = [events = events_](const peer& who, const connect_failure& why) {
    if (events->on_refused) events->on_refused(who, why);
  };
  hooks.on_gone = on_strand([origin](acceptor& self) {
    --self.connections_;
    const auto at = self.by_origin_.find(origin);
    if (--at->second.connections == 0) self.by_origin_.erase(at);
  });
  return hooks;
}

result<std::unique_ptr<listener>> listener::open(transport& on, const host_port& at, std::optional<tls_context> tls,
                                                 const listener_settings& settings, listener_events events) {
  if (auto fit = check(settings, at.text()); !fit) return tl::unexpected(fit.error());
  auto inner = std::make_shared<acceptor>(on.core(), std::move(tls), settings, std::move(events));
  const auto port = inner->bind(at);
  if (!port) return tl::unexpected(port.error());
  if (!inner->start()) return fail(error::kind::runtime, at.text(), "the transport has ended");
  return std::unique_ptr<listener>(new listener(std::move(inner), *port));
}

listener::~listener() { inner_->abort(); }

result<void> listener::use(const listener_settings& settings) {
  if (auto fit = check(settings, "port " + std::to_string(port_)); !fit) return fit;
  inner_->use(settings);
  return {};
}

std::size_t listener::connections() const { return inner_->connections(); }

}  // namespace furlong::actors::net
