#include "actors/aggregator_transport/listener.hpp"

#include <caf/io/all.hpp>
#include <caf/openssl/all.hpp>
#include <utility>

#include "actors/aggregator_transport/acceptor.hpp"
#include "actors/aggregator_transport/configure.hpp"
#include "actors/net/listening.hpp"

namespace furlong::actors::aggregator_transport {

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
