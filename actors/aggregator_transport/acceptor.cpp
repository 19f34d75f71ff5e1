#include "actors/aggregator_transport/acceptor.hpp"

#include <caf/io/all.hpp>
#include <utility>

#include "actors/aggregator_transport/link.hpp"
#include "actors/aggregator_transport/sockets.hpp"
#include "actors/aggregator_transport/tls_guard.hpp"

namespace furlong::actors::aggregator_transport {

namespace {

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

}  // namespace

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
              const auto from = with_port(address, port);
              accept(self, promise, wanted, {certified_name(from), from}, options, gate);
            },
            [=](const caf::error& why) mutable {
              promise.deliver(link_opened{{}, "its connection is not known: " + self->system().render(why)});
            });
    return promise;
  }};
}

}  // namespace furlong::actors::aggregator_transport
