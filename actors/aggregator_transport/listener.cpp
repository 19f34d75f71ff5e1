#include "actors/aggregator_transport/listener.hpp"

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <mutex>
#include <utility>

#include "actors/aggregator_transport/configure.hpp"
#include "actors/aggregator_transport/link.hpp"
#include "actors/aggregator_transport/link_messages.hpp"
#include "actors/aggregator_transport/sockets.hpp"
#include "actors/aggregator_transport/tls_guard.hpp"
#include "actors/net/address.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

// The actor behind the port.

/// Guards a listener's on_open: it runs once at a time, and not at all after shut(). Thread-safe.
class open_gate {
 public:
  explicit open_gate(link_opened_callback on_open) : on_open_(std::move(on_open)) {}

  /// Events of nobody when it is shut: the channel is not taken, and so is closed.
  [[nodiscard]] net::channel_events opened(const net::channel_ptr& channel) {
    const std::scoped_lock lock(mutex_);
    return on_open_ ? on_open_(channel) : net::channel_events{};
  }
  void shut() {
    const std::scoped_lock lock(mutex_);
    on_open_ = nullptr;
  }

 private:
  std::recursive_mutex mutex_;  ///< on_open may close its listener
  link_opened_callback on_open_;
};

using opened_promise = caf::typed_response_promise<link_opened>;

void accept(acceptor_actor::pointer self, opened_promise promise, const link_open& wanted, net::peer other,
            const link_options& options, const std::shared_ptr<open_gate>& gate) {
  auto start = std::make_shared<link_start>();
  start->options = options;
  start->connection = other.address;
  start->other = std::move(other);
  start->on_open = [gate](const net::channel_ptr& channel) { return gate->opened(channel); };
  start->counterpart = wanted.link;
  promise.deliver(link_opened{self->spawn(link_behavior, std::move(start)), {}});
}

/// Spawns a link for each that a connecting process wants, and answers with it.
acceptor_actor::behavior_type acceptor_behavior(acceptor_actor::pointer self, const link_options& options,
                                                const std::shared_ptr<open_gate>& gate) {
  return {[=](const link_open& wanted) -> opened_promise {
    auto promise = self->make_response_promise<link_opened>();
    if (wanted.protocol != link_protocol || !wanted.link) {
      promise.deliver(link_opened{{},
                                  "it speaks version " + std::to_string(link_protocol) + " of the protocol, not " +
                                      std::to_string(wanted.protocol)});
      return promise;
    }
    self->request(self->system().middleman().actor_handle(), std::chrono::seconds(1), caf::get_atom::value,
                  wanted.link.node())
        .then(
            [=](const caf::node_id&, const std::string& address, std::uint16_t port) {
              const auto from = net::host_port{address, port}.text();
              accept(self, promise, wanted, {certified_name(from), from}, options, gate);
            },
            [=](const caf::error& why) mutable {
              promise.deliver(link_opened{{}, "its connection is not known: " + self->system().render(why)});
            });
    return promise;
  }};
}

}  // namespace

class operator_listener::state {
 public:
  state(acceptor_actor acceptor, std::shared_ptr<open_gate> gate, std::uint16_t port)
      : acceptor_(std::move(acceptor)), gate_(std::move(gate)), port_(port) {}

  [[nodiscard]] std::uint16_t port() const { return port_; }
  void close() {
    gate_->shut();
    const std::scoped_lock lock(mutex_);
    const auto acceptor = std::exchange(acceptor_, acceptor_actor{});
    if (!acceptor) return;
    // Not by caf::openssl, whose functions for this do not compile.
    caf::make_function_view(network_manager(acceptor.home_system()))(caf::unpublish_atom::value, acceptor.address(),
                                                                     port_);
    caf::anon_send_exit(acceptor, caf::exit_reason::user_shutdown);
  }

 private:
  std::mutex mutex_;
  acceptor_actor acceptor_;
  std::shared_ptr<open_gate> gate_;
  std::uint16_t port_;
};

operator_listener::operator_listener(std::unique_ptr<state> opened) : state_(std::move(opened)) {}
operator_listener::~operator_listener() { close(); }
std::uint16_t operator_listener::port() const { return state_->port(); }
void operator_listener::close() { state_->close(); }

result<std::unique_ptr<operator_listener>> operator_listener::open(caf::actor_system& system, const std::string& host,
                                                                   std::uint16_t port, const link_options& options,
                                                                   link_opened_callback on_open) {
  auto gate = std::make_shared<open_gate>(std::move(on_open));
  auto acceptor = system.spawn(acceptor_behavior, options, gate);
  // Reuses the address, so that a restarted server gets its port while old connections are closing.
  constexpr bool reuse = true;
  auto bound = system.has_openssl_manager() ? caf::openssl::publish(acceptor, port, host.c_str(), reuse)
                                            : system.middleman().publish(acceptor, port, host.c_str(), reuse);
  if (!bound) {
    caf::anon_send_exit(acceptor, caf::exit_reason::user_shutdown);
    const net::host_port at{host, port};
    if (auto possible = net::can_listen(at); !possible) return tl::unexpected(possible.error());
    return fail(error::kind::runtime, at.text(), "cannot listen there: " + system.render(bound.error()),
                "choose an address of this machine and a free port");
  }
  return std::unique_ptr<operator_listener>(
      new operator_listener(std::make_unique<state>(std::move(acceptor), std::move(gate), *bound)));
}

}  // namespace furlong::actors::aggregator_transport
