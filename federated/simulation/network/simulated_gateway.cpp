#include "federated/simulation/network/simulated_gateway.hpp"

#include "base/narrow_variant.hpp"
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

simulated_gateway::simulated_gateway(shared_world& world, processes::gateway_options options, protocol::welcome content,
                                     gateway_parent parent, scheduler later)
    : simulated_host(world.net, std::move(later)),
      world_(world),
      id_(++world.last_id),
      parent_(std::move(parent)),
      role_(world.e, std::move(content), std::move(options), *this) {}

void simulated_gateway::admit(const link_ptr& through, const protocol::hello& hello) {
  const auto session = open({through, 1});
  const auto address = address_of(through->side(0).at);
  role_.on_opened(session, {address, address});
  role_.on_message(session, hello);
}

void simulated_gateway::on_downward(const protocol::downward& content) {
  const auto* const share = std::get_if<protocol::assign>(&content);
  if (share != nullptr && share->begins) world_.around.on_share(id_);
  role_.on_downward(content);
}

void simulated_gateway::tell_parent(protocol::upward&& content) {
  if (const auto* settled = std::get_if<protocol::settled>(&content))
    for (const auto& settlement : settled->each) world_.around.on_settled(id_, settlement);
  if (auto* sent = std::get_if<partial_aggregate>(&content)) {
    const auto partial = std::make_shared<const partial_aggregate>(std::move(*sent));
    world_.around.on_sent(id_, partial);
    return parent_.hear_partial(partial);
  }
  parent_.hear(std::move(content));
}

/// No simulated node is one that has to be refused.
void simulated_gateway::record_refusal(const processes::peer_facts& peer, processes::admission_refusal reason,
                                       const std::string& text) {
  world_.around.wrong("a gateway refused " + peer.name + " (" + std::string(to_string(reason)) + "): " + text);
}

void simulated_gateway::on_arrival(protocol::session_number session, message&& content) {
  if (const auto* update = std::get_if<update_ptr>(&content)) {
    world_.around.on_update(id_, *update);
    return role_.on_update(session, **update);
  }
  if (const auto* dropped = std::get_if<client_dropped>(&content))
    return role_.on_dropped(session, dropped->task, dropped->stage);
  auto control = narrow_variant<protocol::control>(std::move(content));
  if (!control) return role_.on_unexpected(session);
  role_.on_message(session, std::move(*control));
}

}  // namespace furlong::federated::network
