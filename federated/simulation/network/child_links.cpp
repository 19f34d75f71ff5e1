#include "federated/simulation/network/child_links.hpp"

#include "base/narrow_variant.hpp"
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

child_links::child_links(shared_world& world, processes::children_parent& parent, partial_hook on_partial)
    : simulated_host(world.net, {}),
      world_(world),
      on_partial_(std::move(on_partial)),
      children_(*this, parent, world.e.clients->facts().clients) {}

void child_links::admit(const link_ptr& through, const protocol::branch_hello& hello) {
  const auto session = open({through, 1});
  const auto address = address_of(through->side(0).at);
  children_.on_opened(session, {address, address});
  children_.on_message(session, hello);
}

void child_links::send(protocol::session_number session, protocol::control content) {
  if (std::holds_alternative<protocol::redirect>(content)) world_.around.on_redirected();
  simulated_host::send(session, std::move(content));
}

void child_links::on_arrival(protocol::session_number session, message&& content) {
  if (const auto* partial = std::get_if<partial_ptr>(&content)) {
    const auto sent = *partial;
    on_partial_(sent);
    return children_.on_partial(session, partial_aggregate(*sent));
  }
  auto control = narrow_variant<protocol::control>(std::move(content));
  if (!control) return children_.on_unexpected(session);
  children_.on_message(session, std::move(*control));
}

}  // namespace furlong::federated::network
