#include "actors/federation/gateway.hpp"

#include <algorithm>
#include <chrono>

#include "actors/federation/message_limits.hpp"
#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

using protocol::session_number;

gateway_host::gateway_host(gateway_pointer self, std::shared_ptr<const federation_context> run, parent_actor parent,
                           const gateway_options& options)
    : self_(self),
      run_(std::move(run)),
      parent_(std::move(parent)),
      number_(options.number),
      admission_(options.admission) {}

void gateway_host::wake(federated::virtual_time instant) {
  const auto wait = std::max<federated::virtual_time>(instant - steady_now(), 0);
  self_->delayed_send(self_, std::chrono::microseconds(wait), tick{});
}

void gateway_host::admitted(session_number session) {
  if (auto* const channel = find(session)) channel->limit(longest_node_frame(run_->e, run_->welcome.facts.clients));
}

void gateway_host::tell_parent(upward&& content) {
  self_->send(parent_, from_branch{number_, std::make_shared<upward>(std::move(content))});
}

void gateway_host::place(const processes::node_arrival& node) { self_->send(parent_, node_arrived{node}); }

void gateway_host::record_refusal(const processes::peer_facts& peer, admission_refusal reason,
                                  const std::string& text) {
  admission_->record_refusal(peer_of(peer), reason, text);
}

void gateway_host::record_unasked(federated::rejection reason) { admission_->unasked(reason); }

void gateway_host::end() { self_->quit(); }

void gateway_host::on_unsendable(const error& reason) { self_->send(parent_, run_failure{reason}); }

namespace {

void on_frame(gateway_state& state, const session_frame& got) {
  if (!state.host->is_open(got.session)) return;
  auto message = state.decoder->decode(got.frame->bytes());
  if (!message) return state.role->on_undecodable(got.session, message.error());
  if (const auto* update = std::get_if<wire::update_view>(&*message)) {
    state.decoder->copy(*update, state.update);
    return state.role->on_update(got.session, state.update, got.frame->bytes().size());
  }
  auto control = narrow_variant<wire::control>(std::move(*message));
  if (!control) return state.role->on_unexpected(got.session);
  state.role->on_message(got.session, std::move(*control));
}

/// Ends sessions of nodes that were denied after admission.
void check_deny_list(gateway_pointer self) {
  auto& state = self->state;
  if (steady_now() < state.deny_check_at) return;
  const auto pause = federated::from_seconds(state.run->e.settings.network->heartbeat);
  state.deny_check_at = steady_now() + pause;
  self->delayed_send(self, std::chrono::microseconds(pause), tick{});
  state.admission->refresh();
  state.role->refuse_denied([&](const auto& peer) { return state.admission->denies(peer_of(peer)); },
                            std::string(tls::denied_text));
}

}  // namespace

gateway_actor::behavior_type gateway_behavior(gateway_pointer self, std::shared_ptr<const federation_context> run,
                                              parent_actor parent, protocol::welcome welcome, gateway_options options) {
  auto& state = self->state;
  state.run = std::move(run);
  state.admission = options.admission;
  state.decoder.emplace(state.run->e.parts.down, state.run->e.parts.up, federated::rule_sizes_of(state.run->e));
  state.host.emplace(self, state.run, parent, options);
  welcome.facts = state.run->welcome.facts;
  state.role.emplace(state.run->e, std::move(welcome),
                     processes::gateway_options{options.number, std::move(options.clients_of), check_hosted},
                     *state.host);
  const auto guarded = [self](auto&& work) {
    try {
      work(self->state);
    } catch (const models::broken_part& broken) {  // the aggregation rule
      self->state.host->on_unsendable(broken.why);
    }
  };
  // The parent's close notice and its last verdicts arrive before this message.
  self->monitor(parent);
  self->set_down_handler([self](const caf::down_msg& down) {
    const bool over = down.reason == caf::exit_reason::normal;
    protocol::close_notice notice{over ? run_is_over : "the parent stops", over};
    self->send(self, to_branch{std::make_shared<const downward>(std::move(notice))});
  });
  self->send(self, tick{});
  return {
      [self](const session_opened& opened) {
        self->state.host->open(opened.session, opened.channel);
        self->state.role->on_opened(opened.session, facts_of(opened));
      },
      [guarded](const session_frame& got) { guarded([&](auto& state) { on_frame(state, got); }); },
      [guarded](const session_closed& closed) {
        guarded([&](auto& state) {
          state.host->forget(closed.session);
          state.role->on_closed(closed.session, {closed.why, closed.denied});
        });
      },
      [guarded](const to_branch& message) { guarded([&](auto& state) { state.role->on_downward(*message.what); }); },
      [guarded](const node_placed& answer) { guarded([&](auto& state) { state.role->on_placed(answer.place); }); },
      [guarded](const sessions_over& end) { guarded([&](auto& state) { state.role->end_sessions(end.why); }); },
      [self, guarded](const tick&) {
        guarded([&](auto& state) {
          check_deny_list(self);
          state.role->on_wake();
        });
      },
  };
}

}  // namespace furlong::actors::federation
