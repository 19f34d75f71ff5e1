#include "actors/federation/relay.hpp"

#include <spdlog/spdlog.h>

#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

using namespace processes;

namespace {

constexpr std::uint32_t own_gateway_number = 0;

void perform(relay_pointer self, protocol::tell_child& effect) {
  auto& state = self->state;
  // A lost child: the machine is notified, or has been.
  if (effect.child != own_gateway_number) return state.children->known().send(effect.child, effect.content);
  if (state.gateway) self->send(state.gateway, to_branch{std::make_shared<const downward>(std::move(effect.content))});
}

void perform(relay_pointer self, protocol::tell_parent& effect) {
  self->send(self->state.up, from_branch{self->state.number, std::make_shared<upward>(std::move(effect.content))});
}

void perform_all(relay_pointer self, protocol::relay_effects& effects) {
  for (auto& effect : effects) std::visit([&](auto& one) { perform(self, one); }, effect);
}

/// It may still be connected and must not be trusted.
void drop(relay_pointer self, std::uint32_t child, const std::string& reason) {
  auto& state = self->state;
  if (child != own_gateway_number) state.children->known().drop(child, reason);
  if (child == own_gateway_number && state.gateway) {
    const auto notice = std::make_shared<const downward>(protocol::close_notice{reason, false});
    self->send(std::exchange(state.gateway, nullptr), to_branch{notice});
  }
  state.parent->lose(child, reason);
}

void on_told(relay_pointer self, std::uint32_t child, upward&& content) {
  auto& state = self->state;
  protocol::relay_effects effects;
  const auto sound = state.machine->on_told(child, std::move(content), effects);
  perform_all(self, effects);
  // Ignores its message.
  if (!sound) drop(self, child, sound.error().text());
}

/// Ends with all links to it: also of aggregators that are not admitted.
void end(relay_pointer self, const protocol::close_notice& notice) {
  self->state.children->known().end_all(notice);
  self->quit(notice.final ? caf::exit_reason::normal : caf::exit_reason::user_shutdown);
}

node_placement place_node(relay_state& state, const node_arrival& node) {
  if (auto why = unlike_kernels(state.run->e.settings.network->kernels, node.kernels))
    return {node.session, {}, std::move(why)};
  return {node.session, state.machine->routes().gateway_with_fewer(node.clients, node.avoid)};
}

/// After the other actor's last messages.
void on_down(relay_pointer self, const caf::down_msg& down) {
  auto& state = self->state;
  if (state.up.address() == down.source)
    return self->send(
        self, to_branch{std::make_shared<const downward>(protocol::close_notice{"the aggregator stops", false})});
  if (state.gateway && state.gateway.address() == down.source)
    self->send(self, branch_gone{own_gateway_number, "its actor ended"});
}

void on_downward(relay_pointer self, const downward& what) {
  auto& state = self->state;
  if (const auto* durable = std::get_if<protocol::checkpointed>(&what)) state.welcome.covered = durable->version;
  protocol::relay_effects effects;
  state.machine->on_order(what, effects);
  perform_all(self, effects);
  const auto* notice = std::get_if<protocol::close_notice>(&what);
  if (notice == nullptr) return;
  state.children->known().leave();
  if (notice->final && !std::exchange(state.leaving, true) && (state.gateway || state.children->known().size() > 0))
    return;
  end(self, *notice);
}

}  // namespace

std::optional<std::string> relay_children::judge_kernels(const kernel_offer& offer) {
  return unlike_kernels(self_->state.run->e.settings.network->kernels, offer);
}

protocol::aggregator_place relay_children::place(const protocol::branch_hello& hello) {
  return self_->state.machine->place_aggregator(hello);
}

protocol::welcome relay_children::add(const protocol::branch_hello& hello) {
  auto& state = self_->state;
  auto welcome = state.welcome;
  welcome.kernel_level = level_of_run(state.run->e.settings.network->kernels, welcome.kernel_level);
  welcome.aggregator = state.machine->add_child(hello);
  return welcome;
}

void relay_children::hear(std::uint32_t child, upward&& content) { on_told(self_, child, std::move(content)); }

void relay_children::lose(std::uint32_t child, const std::string& reason) {
  auto& state = self_->state;
  spdlog::log(state.leaving ? spdlog::level::debug : spdlog::level::warn, "aggregator {}: {}", child, reason);
  protocol::relay_effects effects;
  state.machine->on_child_lost(child, effects);
  perform_all(self_, effects);
  if (state.leaving && !state.gateway && state.children->known().size() == 0) end(self_, {run_is_over, true});
}

void relay_children::fail_run(const error& reason) { self_->send(self_->state.up, run_failure{reason}); }

relay_actor::behavior_type relay_behavior(relay_pointer self, std::shared_ptr<const federation_context> run,
                                          upward_actor up, protocol::welcome got) {
  auto& state = self->state;
  state.run = std::move(run);
  state.up = std::move(up);
  state.number = got.aggregator;
  state.welcome = std::move(got);
  state.machine.emplace(state.run->e, state.number, state.welcome.facts.clients);
  state.parent.emplace(self);
  state.children.emplace(state.run, *state.parent,
                         child_messages{[self](run_failure failure) { self->send(self, std::move(failure)); },
                                        [self](session_closed end) { self->send(self, std::move(end)); }});
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->monitor(state.up);
  return {
      [self](const from_branch& message) { on_told(self, message.branch, std::move(*message.what)); },
      [self](const run_failure& message) { self->send(self->state.up, message); },
      [self](const branch_gone& gone) {
        self->state.gateway = nullptr;
        self->state.parent->lose(gone.branch, gone.why);
      },
      [self](const node_arrived& arrived) {
        const auto gateway = caf::actor_cast<gateway_actor>(self->current_sender());
        self->send(gateway, node_placed{place_node(self->state, arrived.node)});
      },
      [self](const session_opened& opened) { self->state.children->on_opened(opened); },
      [self](const session_frame& got) { self->state.children->on_frame(got); },
      [self](const session_closed& closed) { self->state.children->on_closed(closed); },
      [self](const to_branch& message) { on_downward(self, *message.what); },
      [self](const own_gateway& own) {
        self->state.gateway = own.actor;
        self->monitor(own.actor);
      },
  };
}

}  // namespace furlong::actors::federation
