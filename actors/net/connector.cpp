#include "actors/net/connector.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "actors/net/detail/session.hpp"

namespace furlong::actors::net {

namespace {

using detail::error_code;
using detail::asio::ip::tcp;
using clock = std::chrono::steady_clock;
using std::chrono::milliseconds;

failure_cause cause_of(const error_code& failed) {
  if (failed == boost::asio::error::connection_refused) return failure_cause::refused;
  if (failed == boost::asio::error::timed_out) return failure_cause::timed_out;
  return failure_cause::unreachable;
}

/// Resolves the address and connects; a session continues. Runs on the strand of the socket.
class dialer final : public detail::endable, public std::enable_shared_from_this<dialer> {
 public:
  dialer(std::shared_ptr<detail::io_core> core, host_port to, std::optional<tls_context> tls,
         const channel_settings& settings, budget_ptr room, connect_events events)
      : core_(std::move(core)),
        socket_(core_->strand()),
        resolver_(socket_.get_executor()),
        timer_(socket_.get_executor()),
        to_(std::move(to)),
        tls_(std::move(tls)),
        settings_(settings),
        room_(std::move(room)),
        events_(std::move(events)) {}

  void start() {
    const bool may = core_->add(shared_from_this());
    boost::asio::post(socket_.get_executor(), [self = shared_from_this(), may] {
      if (!may) return self->give_up(failure_cause::stopped, "the transport ended");
      self->resolve();
    });
  }

  void abort() override {
    boost::asio::post(socket_.get_executor(),
                      [self = shared_from_this()] { self->give_up(failure_cause::stopped, "the transport ended"); });
  }

 private:
  void resolve();
  void connect_to(const tcp::resolver::results_type& found);
  void on_connected();
  void give_up(failure_cause cause, const std::string& why);
  void finish();

  std::shared_ptr<detail::io_core> core_;  // first, so that it outlives the socket
  tcp::socket socket_;
  tcp::resolver resolver_;
  detail::asio::steady_timer timer_;
  const host_port to_;
  const std::optional<tls_context> tls_;
  channel_settings settings_;
  budget_ptr room_;
  connect_events events_;
  clock::time_point born_ = clock::now();
  bool ended_ = false;
};

void dialer::resolve() {
  if (ended_) return;
  timer_.expires_at(born_ + settings_.opening);
  timer_.async_wait([self = shared_from_this()](const error_code& stopped) {
    if (!stopped) self->give_up(failure_cause::timed_out, "no connection within the time allowed");
  });
  error_code no_address;
  const auto address = boost::asio::ip::make_address(to_.host, no_address);
  if (!no_address)
    return connect_to(tcp::resolver::results_type::create(tcp::endpoint(address, to_.port), to_.host, ""));
  resolver_.async_resolve(to_.host, std::to_string(to_.port), tcp::resolver::numeric_service,
                          [self = shared_from_this()](const error_code& failed, const auto& found) {
                            if (self->ended_) return;
                            if (!failed) return self->connect_to(found);
                            self->give_up(failure_cause::unknown_host, "no address has this name: " + failed.message());
                          });
}

void dialer::connect_to(const tcp::resolver::results_type& found) {
  boost::asio::async_connect(socket_, found,
                             [self = shared_from_this()](const error_code& failed, const tcp::endpoint&) {
                               if (self->ended_) return;
                               if (failed) return self->give_up(cause_of(failed), "no connection: " + failed.message());
                               self->on_connected();
                             });
}

void dialer::on_connected() {
  error_code failed;
  socket_.non_blocking(true, failed);
  if (!failed) socket_.set_option(tcp::no_delay(true), failed);
  auto bytes = tls_ ? detail::make_tls_stream(socket_.native_handle(), *tls_, to_.host)
                    : detail::make_plain_stream(socket_.native_handle());
  if (failed || bytes == nullptr)
    return give_up(failure_cause::lost, "no memory for a connection, or a host name that is none");
  const auto taken = std::chrono::duration_cast<milliseconds>(clock::now() - born_);
  settings_.opening = std::max(settings_.opening - taken, milliseconds(1));
  detail::session_hooks hooks;
  hooks.on_open = std::move(events_.on_open);
  hooks.on_failed = [say = std::move(events_.on_failed), place = to_.text()](const peer&, connect_failure why) {
    why.what.place = place;
    if (say) say(why);
  };
  finish();
  const peer other{"", to_.text()};
  detail::session_parts parts{core_,     std::move(socket_), std::move(bytes), other, false, tls_.has_value(),
                              settings_, std::move(room_),   std::move(hooks)};
  std::make_shared<detail::session>(std::move(parts))->start();
}

void dialer::give_up(failure_cause cause, const std::string& why) {
  if (ended_) return;
  finish();
  error_code ignored;
  socket_.close(ignored);
  const auto say = std::exchange(events_, {}).on_failed;
  if (say) say({cause, {error::kind::runtime, to_.text(), why, ""}});
}

void dialer::finish() {
  ended_ = true;
  timer_.cancel();
  resolver_.cancel();
  core_->remove(this);
}

}  // namespace

void connect(transport& on, const host_port& to, std::optional<tls_context> tls, const channel_settings& settings,
             budget_ptr room, connect_events events) {
  std::make_shared<dialer>(on.core(), to, std::move(tls), settings, std::move(room), std::move(events))->start();
}

}  // namespace furlong::actors::net
