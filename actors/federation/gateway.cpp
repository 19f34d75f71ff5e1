#include "actors/federation/gateway.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

using protocol::session_number;
using session = gateway_state::session;

void send_up(gateway_pointer self, upward what) {
  self->send(self->state.parent, from_branch{self->state.options.number, std::make_shared<upward>(std::move(what))});
}

/// Ends the run if a message could not be encoded; false then.
bool expect(gateway_pointer self, const result<void>& sent) {
  if (!sent) self->send(self->state.parent, unsendable{sent.error()});
  return sent.has_value();
}

void send(gateway_pointer self, const session& to, wire::control message) {
  expect(self, send_control(*to.channel, std::move(message)));
}

/// Ends a session.
void drop_session(gateway_pointer self, session_number number, protocol::gateway_effects& out) {
  auto& state = self->state;
  const auto at = state.sessions.find(number);
  if (at == state.sessions.end()) return;
  at->second.channel->close();
  state.sessions.erase(at);
  state.machine->on_session_lost(number, steady_now(), out);
}

/// `for_good`: reconnecting is useless until `remedy` is done.
void refuse(gateway_pointer self, session_number number, admission_refusal reason, const std::string& why,
            protocol::gateway_effects& out, bool for_good = false, const std::string& remedy = {}) {
  const auto at = self->state.sessions.find(number);
  if (at == self->state.sessions.end()) return;
  self->state.options.admission->record_refusal(at->second.channel->other(), reason, why);
  send(self, at->second, protocol::close_notice{why, for_good, for_good, remedy});
  drop_session(self, number, out);
}

bool send_model(gateway_pointer self, session& to, const federated::broadcast_ptr& from) {
  return expect(self, self->state.run->frames->send(*to.channel, to.models, from));
}

void perform(gateway_pointer self, protocol::tell_node& effect) {
  const auto at = self->state.sessions.find(effect.session);
  if (at == self->state.sessions.end()) return;
  auto& node = at->second;
  if (const auto* given = std::get_if<protocol::assign>(&effect.content)) {
    if (send_model(self, node, given->from)) send(self, node, protocol::message_of(*given));
  } else if (auto* asked = std::get_if<evaluation_down>(&effect.content)) {
    if (send_model(self, node, asked->from))
      expect(self, send_request(*node.channel, asked->from->version, asked->clients));
  } else if (auto* some = std::get_if<protocol::letters>(&effect.content)) {
    expect(self, send_letters(*node.channel, *some));
  } else {
    send(self, node, std::get<protocol::verdicts>(std::move(effect.content)));
  }
}

void perform(gateway_pointer self, protocol::end_session& effect) {
  const auto at = self->state.sessions.find(effect.session);
  if (at == self->state.sessions.end()) return;
  spdlog::info("node {}: {}", at->second.channel->other().name, effect.why);
  // The close notice is final, because two nodes that both reconnect would replace each other endlessly. A node that
  // opened the other session itself ignores it.
  send(self, at->second, protocol::close_notice{effect.why, true, true});
  at->second.channel->close();
  self->state.sessions.erase(at);
}

void perform(gateway_pointer self, protocol::tell_parent& effect) {
  if (auto* attached = std::get_if<protocol::attached>(&effect.content))
    for (const auto& [number, node] : self->state.sessions)
      if (node.open && node.hello.clients == attached->clients) attached->node = node.channel->other().name;
  std::visit([&](auto& what) { send_up(self, std::move(what)); }, effect.content);
}

void perform(gateway_pointer self, protocol::wake& effect) {
  const auto wait = std::max<federated::virtual_time>(effect.at - steady_now(), 0);
  self->delayed_send(self, std::chrono::microseconds(wait), tick{});
}

void perform_all(gateway_pointer self, protocol::gateway_effects& effects) {
  for (std::size_t done = 0; done < effects.size(); ++done) {
    auto effect = std::move(effects[done]);
    std::visit([&](auto& one) { perform(self, one); }, effect);
  }
  effects.clear();
}

// ---- sessions ------------------------------------------------------------------------------------------------------

/// Until then only a hello is accepted from it.
void admit(gateway_pointer self, session& node) {
  const auto& state = self->state;
  node.welcomed = true;
  node.covered = state.welcome.covered;
  auto welcome = state.welcome;
  const auto rule = state.run->e.settings.network->kernels;
  welcome.kernel_level = level_of_run(rule, welcome.kernel_level);
  node.hello.kernel_level = level_of_run(rule, node.hello.kernel_level);
  node.channel->limit(longest_node_frame(state.run->e, state.run->welcome.facts.clients));
  send(self, node, std::move(welcome));
}

/// Attaches the node. Not earlier: it may be unable to run the scenario, and another node may have its clients.
void on_ready(gateway_pointer self, session_number number, protocol::ready& got, protocol::gateway_effects& out) {
  auto& state = self->state;
  auto& node = state.sessions.at(number);
  if (!node.welcomed || node.open || got.run != state.welcome.run)
    return refuse(self, number, admission_refusal::out_of_turn, "sent ready before its welcome", out);
  const auto hosts = std::uint64_t{node.hello.clients.last} - node.hello.clients.first + 1;
  if (got.sizes.size() != hosts)
    return refuse(
        self, number, admission_refusal::bad_frame,
        "declares the sizes of " + std::to_string(got.sizes.size()) + " clients, and hosts " + std::to_string(hosts),
        out);
  node.open = true;
  node.hello.claim = got.claim;
  if (node.covered != state.welcome.covered) send(self, node, protocol::checkpointed{state.welcome.covered});
  spdlog::info("node {}: clients {} to {} are connected", node.channel->other().name, node.hello.clients.first,
               node.hello.clients.last);
  state.machine->on_hello(number, node.hello, steady_now(), out, std::move(got.sizes));
  node.hello.holding = {};  // frees the list, which can be long and was passed on
}

/// A node that reconnects has abandoned an earlier session in which it was not ready yet. Ends such sessions, because
/// their lists of held tasks take memory.
void end_unready(gateway_pointer self, session_number number, protocol::gateway_effects& out) {
  const auto& all = self->state.sessions;
  const auto& node = all.at(number);
  const auto& clients = node.hello.clients;
  if (node.channel->other().name.empty()) return;  // without certificates it may be another node
  std::vector<session_number> earlier;
  for (const auto& [other, of] : all)
    if (other != number && of.greeted && !of.open && of.channel->other().name == node.channel->other().name &&
        of.hello.clients.first <= clients.last && clients.first <= of.hello.clients.last)
      earlier.push_back(other);
  for (const auto other : earlier) {
    send(self, all.at(other), protocol::close_notice{"the node began another session", false});
    drop_session(self, other, out);
  }
}

void on_hello(gateway_pointer self, session_number number, protocol::hello got, protocol::gateway_effects& out) {
  auto& state = self->state;
  auto& node = state.sessions.at(number);
  if (std::exchange(node.greeted, true))
    return refuse(self, number, admission_refusal::out_of_turn, "sent hello twice", out);
  if (state.options.clients_of && !node.trusted) {
    const auto allowed = state.options.clients_of(node.channel->other().name);
    if (!allowed || !allowed->contains(got.clients.first) || !allowed->contains(got.clients.last))
      return refuse(self, number, admission_refusal::not_its_clients,
                    "its certificate does not allow it to host clients " + std::to_string(got.clients.first) + " to " +
                        std::to_string(got.clients.last),
                    out, true);
  }
  if (got.clients.last >= state.run->welcome.facts.clients)
    return refuse(self, number, admission_refusal::not_its_clients,
                  "there is no client " + std::to_string(got.clients.last) + ": they are numbered from 0 to " +
                      std::to_string(state.run->welcome.facts.clients - 1),
                  out, true);
  if (const auto few = check_hosted(got.clients); !few)
    return refuse(self, number, admission_refusal::not_its_clients, few.error().reason, out, true, few.error().fix);
  for (const auto& id : got.holding)
    if (!got.clients.contains(id.client))
      return refuse(self, number, admission_refusal::not_its_clients,
                    "holds a task of client " + std::to_string(id.client) + ", which is not its own", out);
  node.hello = std::move(got);
  end_unready(self, number, out);
  self->send(state.parent, node_arrived{number,
                                        node.hello.avoid,
                                        node.hello.clients,
                                        node.hello.claim,
                                        {node.hello.kernel_level, node.hello.kernel_levels}});
}

void on_placed(gateway_pointer self, const node_placed& where, protocol::gateway_effects& out) {
  const auto at = self->state.sessions.find(where.session);
  if (at == self->state.sessions.end()) return;
  if (where.other_kernels)
    return refuse(self, where.session, admission_refusal::other_kernels, *where.other_kernels, out, true,
                  same_kernels_remedy);
  if (where.other_store)
    return refuse(self, where.session, admission_refusal::other_store, *where.other_store, out, true,
                  right_store_remedy);
  // A node with an operator certificate stays here: other gateways require a node's certificate.
  if (where.address.empty() || at->second.trusted) return admit(self, at->second);
  send(self, at->second, protocol::redirect{where.address});
  drop_session(self, where.session, out);
}

/// An undecodable frame ends the session. An update of another shape is also counted as unasked: its task is unknown,
/// and is lost with the session.
void refuse_frame(gateway_pointer self, session_number number, const error& why, protocol::gateway_effects& out) {
  if (why.place.starts_with("update.")) self->state.options.admission->unasked(federated::rejection::wrong_shape);
  refuse(self, number, admission_refusal::bad_frame, why.text(), out);
}

/// Frames that do not depend on the model's layout. Other frames of a node violate the protocol.
void on_control(gateway_pointer self, session_number number, wire::message& got, protocol::gateway_effects& out) {
  auto& state = self->state;
  if (auto* hello = std::get_if<protocol::hello>(&got)) return on_hello(self, number, std::move(*hello), out);
  if (const auto* notice = std::get_if<protocol::close_notice>(&got)) {
    spdlog::info("node {} leaves: {}", state.sessions.at(number).channel->other().name, notice->why);
    return drop_session(self, number, out);
  }
  if (auto* made = std::get_if<protocol::ready>(&got)) return on_ready(self, number, *made, out);
  if (!state.sessions.at(number).open)
    return refuse(self, number, admission_refusal::out_of_turn, "did not say first that it is ready", out);
  if (const auto* failed = std::get_if<protocol::task_failures>(&got))
    return state.machine->on_failures(number, *failed, steady_now(), out);
  if (auto* scores = std::get_if<protocol::evaluation_scores>(&got)) {
    const auto accepted = state.machine->on_scores(number, std::move(*scores), out);
    return accepted ? void() : refuse_frame(self, number, accepted.error(), out);
  }
  if (auto* some = std::get_if<protocol::letters>(&got))
    return state.machine->on_letters(number, std::move(*some), out);
  refuse(self, number, admission_refusal::out_of_turn, "sent a message that nodes do not send", out);
}

void on_frame(gateway_pointer self, const session_frame& got, protocol::gateway_effects& out) {
  auto& state = self->state;
  const auto at = state.sessions.find(got.session);
  if (at == state.sessions.end()) return;
  auto message = state.decoder->decode(got.frame->bytes());
  if (!message) return refuse_frame(self, got.session, message.error(), out);
  const auto* update = std::get_if<wire::update_view>(&*message);
  if (update == nullptr) return on_control(self, got.session, *message, out);
  if (!at->second.open)
    return refuse(self, got.session, admission_refusal::out_of_turn, "did not say first that it is ready", out);
  state.decoder->copy(*update, state.update);
  const auto before = state.machine->unasked();
  state.machine->on_update(got.session, state.update, steady_now(), out, got.frame->bytes().size());
  for (std::size_t why = 0; why < before.size(); ++why)
    if (state.machine->unasked()[why] != before[why]) state.options.admission->unasked(federated::rejection(why));
}

/// Ends sessions of nodes that were denied after admission.
void check_deny_list(gateway_pointer self, protocol::gateway_effects& out) {
  auto& state = self->state;
  const auto pause = federated::from_seconds(state.run->e.settings.network->heartbeat);
  state.deny_check_at = steady_now() + pause;
  self->delayed_send(self, std::chrono::microseconds(pause), tick{});
  state.options.admission->refresh();
  std::vector<session_number> denied;
  for (const auto& [number, node] : state.sessions)
    if (state.options.admission->denies(node.channel->other())) denied.push_back(number);
  for (const auto number : denied)
    refuse(self, number, admission_refusal::denied, std::string(tls::denied_text), out, true);
}

// ---- the parent ----------------------------------------------------------------------------------------------------

void on_downward(gateway_pointer self, const protocol::assign& what, protocol::gateway_effects& out) {
  self->state.machine->on_assignment(what.from, what.tasks, what.begins, steady_now(), out);
}
void on_downward(gateway_pointer self, const protocol::close_request& what, protocol::gateway_effects& out) {
  self->state.machine->on_close(what.version, what.enough, steady_now(), out);
}
void on_downward(gateway_pointer self, const protocol::withdrawal& what, protocol::gateway_effects& out) {
  self->state.machine->on_withdraw(what.tasks, steady_now(), out);
}
void on_downward(gateway_pointer self, const protocol::verdicts& what, protocol::gateway_effects& out) {
  self->state.machine->on_verdicts(what, out);
}
void on_downward(gateway_pointer self, const protocol::checkpointed& what, protocol::gateway_effects&) {
  self->state.welcome.covered = what.version;
  for (const auto& [number, node] : self->state.sessions)
    if (node.open) send(self, node, what);
}

void on_downward(gateway_pointer self, const evaluation_down& what, protocol::gateway_effects& out) {
  self->state.machine->on_evaluation(what, out);
}

void on_downward(gateway_pointer self, const protocol::letters& what, protocol::gateway_effects& out) {
  self->state.machine->on_letters(what, out);
}

void on_downward(gateway_pointer self, const protocol::displaced& what, protocol::gateway_effects& out) {
  auto& state = self->state;
  const auto at = std::ranges::find_if(
      state.sessions, [&](const auto& of) { return of.second.open && of.second.hello.instance == what.instance; });
  if (at == state.sessions.end()) return;
  const auto why = what.why.empty() ? std::string("another session of these clients began") : what.why;
  spdlog::info("node {}: {}", at->second.channel->other().name, why);
  send(self, at->second, protocol::close_notice{why, true, true, what.remedy});
  drop_session(self, at->first, out);
}

void on_downward(gateway_pointer self, const protocol::close_notice& what, protocol::gateway_effects&) {
  auto& state = self->state;
  for (const auto& [number, node] : state.sessions) send(self, node, what);
  // A node confirms the end of the run by closing its session. A second close notice ends the wait.
  if (what.final && !std::exchange(state.leaving, true)) return;
  for (const auto& [number, node] : state.sessions) node.channel->close();
  state.sessions.clear();
  state.leaving = true;
}

void end_without_sessions(gateway_pointer self) {
  auto& state = self->state;
  if (!state.leaving || !state.sessions.empty()) return;
  state.over = true;
  self->quit();
}

}  // namespace

gateway_actor::behavior_type gateway_behavior(gateway_pointer self, std::shared_ptr<const federation_context> run,
                                              parent_actor parent, protocol::welcome welcome, gateway_options options) {
  auto& state = self->state;
  state.run = std::move(run);
  state.parent = std::move(parent);
  state.welcome = std::move(welcome);
  state.machine.emplace(state.run->e, options.number);
  state.decoder.emplace(state.run->e.parts.down, state.run->e.parts.up, federated::rule_sizes_of(state.run->e));
  state.options = std::move(options);
  const auto with_effects = [self](auto&& work) {
    if (self->state.over) return;
    protocol::gateway_effects effects;
    try {
      work(effects);
    } catch (const models::broken_part& broken) {  // the rule: what is in the machine has no meaning any more
      return self->send(self->state.parent, run_failed{broken.why});
    }
    perform_all(self, effects);
    end_without_sessions(self);
  };
  // The parent's close notice and its last verdicts arrive before this message.
  self->monitor(state.parent);
  self->set_down_handler([self](const caf::down_msg& down) {
    const bool over = down.reason == caf::exit_reason::normal;
    protocol::close_notice notice{over ? run_is_over : "the parent stops", over};
    self->send(self, to_branch{std::make_shared<const downward>(std::move(notice))});
  });
  self->send(self, tick{});
  return {
      [self](const session_opened& opened) {
        if (self->state.over) return opened.channel->close();
        auto& session = self->state.sessions[opened.session];
        session.channel = opened.channel;
        session.trusted = opened.trusted;
        if (self->state.leaving) send(self, session, protocol::close_notice{run_is_over, true});
      },
      [self, with_effects](const session_frame& got) { with_effects([&](auto& out) { on_frame(self, got, out); }); },
      [self, with_effects](const session_closed& closed) {
        with_effects([&](auto& out) {
          const auto at = self->state.sessions.find(closed.session);
          if (at == self->state.sessions.end()) return;
          // A peer without a hello was no node: admission control has counted any error.
          const auto level = at->second.greeted ? spdlog::level::info : spdlog::level::debug;
          spdlog::log(level, "node {}: {}", at->second.channel->other().name, closed.why);
          drop_session(self, closed.session, out);
        });
      },
      [self, with_effects](const to_branch& message) {
        with_effects(
            [&](auto& out) { std::visit([&](const auto& what) { on_downward(self, what, out); }, *message.what); });
      },
      [self, with_effects](const node_placed& where) { with_effects([&](auto& out) { on_placed(self, where, out); }); },
      [self, with_effects](const sessions_over& end) {
        with_effects([&](auto& out) {
          std::vector<session_number> all;
          for (const auto& [number, node] : self->state.sessions) all.push_back(number);
          for (const auto number : all) {
            send(self, self->state.sessions.at(number), protocol::close_notice{end.why, false});
            drop_session(self, number, out);
          }
        });
      },
      [self, with_effects](const tick&) {
        with_effects([&](auto& out) {
          if (steady_now() >= self->state.deny_check_at) check_deny_list(self, out);
          self->state.machine->on_timer(steady_now(), out);
        });
      },
  };
}

}  // namespace furlong::actors::federation
