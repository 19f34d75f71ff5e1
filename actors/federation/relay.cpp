#include "actors/federation/relay.hpp"

#include <spdlog/spdlog.h>

#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

using namespace processes;

namespace {

void perform(relay_pointer self, protocol::tell_child& effect) {
  const auto at = self->state.children.find(effect.child);
  // A lost child: the machine is notified, or has been.
  if (at != self->state.children.end())
    self->send(at->second.actor, to_branch{std::make_shared<const downward>(std::move(effect.content))});
}

void perform(relay_pointer self, protocol::tell_parent& effect) {
  self->send(self->state.up, from_branch{self->state.number, std::make_shared<upward>(std::move(effect.content))});
}

void perform_all(relay_pointer self, protocol::relay_effects& effects) {
  for (auto& effect : effects) std::visit([&](auto& one) { perform(self, one); }, effect);
}

void drop_child(relay_pointer self, std::uint32_t number, const std::string& why) {
  auto& state = self->state;
  const auto at = state.children.find(number);
  if (at == state.children.end()) return;
  spdlog::log(state.leaving ? spdlog::level::debug : spdlog::level::warn, "aggregator {} ({}): {}", number,
              at->second.name, why);
  // It may still be connected and must not be trusted. A lost child ignores this.
  const auto notice = std::make_shared<const downward>(protocol::close_notice{why, false});
  self->send(at->second.actor, to_branch{notice});
  state.children.erase(at);
  protocol::relay_effects effects;
  state.machine->on_child_lost(number, effects);
  perform_all(self, effects);
  if (state.leaving && state.children.empty()) self->quit();
}

void on_from_branch(relay_pointer self, const from_branch& message) {
  auto& state = self->state;
  if (!state.children.contains(message.branch)) return;
  protocol::relay_effects effects;
  const auto sound = state.machine->on_told(message.branch, std::move(*message.what), effects);
  perform_all(self, effects);
  // Ignores its message.
  if (!sound) drop_child(self, message.branch, sound.error().text());
}

void on_arrival(relay_pointer self, const protocol::branch_hello& hello) {
  auto& state = self->state;
  const auto actor = caf::actor_cast<branch_link_actor>(self->current_sender());
  const auto rule = state.run->e.settings.network->kernels;
  if (const auto why = unlike_kernels(rule, {hello.kernel_level, hello.kernel_levels})) {
    spdlog::warn("aggregator {} is rejected: {}", hello.name, *why);
    return self->send(actor, branch_sent_on{{}, *why, true, same_kernels_remedy});
  }
  const auto place = state.machine->place_aggregator(hello);
  if (!place.here) {
    spdlog::info("aggregator {} is {}", hello.name,
                 place.elsewhere.empty() ? "rejected: there is no room" : "redirected to " + place.elsewhere);
    return self->send(actor, branch_sent_on{place.elsewhere, no_room});
  }
  auto welcome = state.welcome;
  welcome.kernel_level = level_of_run(rule, welcome.kernel_level);
  welcome.aggregator = state.machine->add_child(hello);
  state.children[welcome.aggregator] = {actor, hello.name};
  self->monitor(actor);  // a link that ends before it knows its number sends no branch_gone
  spdlog::info("aggregator {} ({}) is connected; nodes reach it at {}", welcome.aggregator, hello.name, hello.gateway);
  self->send(actor, branch_welcome{std::make_shared<const protocol::welcome>(std::move(welcome))});
  if (state.leaving)
    self->send(actor, to_branch{std::make_shared<const downward>(protocol::close_notice{run_is_over, true})});
}

node_placement place_node(relay_state& state, const node_arrival& node) {
  if (auto why = unlike_kernels(state.run->e.settings.network->kernels, node.kernels))
    return {node.session, {}, std::move(why)};
  return {node.session, state.machine->routes().gateway_with_fewer(node.clients, node.avoid)};
}

/// After the other actor's last messages; it may have reported its end already.
void on_down(relay_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  if (state.up.address() == down.source)
    return self->send(
        self, to_branch{std::make_shared<const downward>(protocol::close_notice{"the aggregator stops", false})});
  for (const auto& [number, child] : state.children)
    if (child.actor.address() == down.source) return self->send(self, branch_gone{number, "its actor ended"});
}

void on_downward(relay_pointer self, const downward& what) {
  auto& state = self->state;
  if (const auto* durable = std::get_if<protocol::checkpointed>(&what)) state.welcome.covered = durable->version;
  protocol::relay_effects effects;
  state.machine->on_order(what, effects);
  perform_all(self, effects);
  const auto* notice = std::get_if<protocol::close_notice>(&what);
  if (notice == nullptr) return;
  if (notice->final && !std::exchange(state.leaving, true) && !state.children.empty()) return;
  // Links that are not children yet derive this from the exit reason.
  self->quit(notice->final ? caf::exit_reason::normal : caf::exit_reason::user_shutdown);
}

}  // namespace

relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome got) {
  auto& state = self->state;
  state.run = std::move(run);
  state.up = std::move(up);
  state.number = got.aggregator;
  state.welcome = std::move(got);
  state.machine.emplace(state.run->e, state.number, state.welcome.facts.clients);
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->monitor(state.up);
  return {
      [self](const from_branch& message) { on_from_branch(self, message); },
      [self](const run_failure& message) { self->send(self->state.up, message); },
      [self](const branch_arrived& arrived) { on_arrival(self, arrived.hello); },
      [self](const branch_gone& gone) { drop_child(self, gone.branch, gone.why); },
      [self](const node_arrived& arrived) {
        const auto gateway = caf::actor_cast<gateway_actor>(self->current_sender());
        self->send(gateway, node_placed{place_node(self->state, arrived.node)});
      },
      [self](const to_branch& message) { on_downward(self, *message.what); },
      [self](const own_gateway& own) {
        self->state.children[0] = {own.actor, "its own gateway"};
        self->monitor(own.actor);
      },
  };
}

}  // namespace furlong::actors::federation
