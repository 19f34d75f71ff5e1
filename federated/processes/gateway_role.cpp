#include "federated/processes/gateway_role.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "federated/settings/network.hpp"

namespace furlong::federated::processes {

using protocol::close_notice;

gateway_role::gateway_role(const experiment& e, protocol::welcome content, gateway_options options,
                           gateway_surroundings& host)
    : e_(e), welcome_(std::move(content)), options_(std::move(options)), host_(host), machine_(e, options_.number) {}

// ---- effects -------------------------------------------------------------------------------------------------------

void gateway_role::perform(protocol::tell_node& effect) {
  const auto found = sessions_.find(effect.session);
  if (found == sessions_.end()) return;
  auto& models = found->second.models;
  if (const auto* share = std::get_if<protocol::assign>(&effect.content)) {
    models.send(host_, effect.session, *share);
  } else if (const auto* request = std::get_if<protocol::evaluation_down>(&effect.content)) {
    models.send(host_, effect.session, *request);
  } else if (auto* letters = std::get_if<protocol::letters>(&effect.content)) {
    host_.send(effect.session, std::move(*letters));
  } else {
    host_.send(effect.session, std::get<protocol::verdicts>(std::move(effect.content)));
  }
}

void gateway_role::perform(protocol::end_session& effect) {
  const auto found = sessions_.find(effect.session);
  if (found == sessions_.end()) return;
  host_.log(log_level::info, "node " + found->second.peer.name + ": " + effect.why);
  // The close notice is final, because two nodes that both reconnect would replace each other endlessly. A node that
  // opened the other session itself ignores it.
  host_.send(effect.session, close_notice{effect.why, true, true});
  host_.close(effect.session);
  sessions_.erase(found);
}

void gateway_role::perform(protocol::tell_parent& effect) {
  if (auto* attached = std::get_if<protocol::attached>(&effect.content))
    for (const auto& [number, node] : sessions_)
      if (node.open && node.hello.clients == attached->clients) attached->node = node.peer.name;
  host_.tell_parent(std::move(effect.content));
}

void gateway_role::perform(protocol::wake& effect) { host_.wake(effect.at); }

void gateway_role::finish(effects& out) {
  for (auto& effect : out) std::visit([this](auto& content) { perform(content); }, effect);
  if (!leaving_ || !sessions_.empty() || std::exchange(over_, true)) return;
  host_.end();
}

// ---- sessions ------------------------------------------------------------------------------------------------------

/// Ends a session. `failure`: why the node ended, if a part of the run failed on it.
void gateway_role::drop(session_number number, effects& out, const std::string& failure) {
  if (sessions_.erase(number) == 0) return;
  host_.close(number);
  machine_.on_session_lost(number, host_.now(), out, failure);
}

/// `for_good`: reconnecting is useless until `remedy` is done.
void gateway_role::refuse(session_number number, admission_refusal reason, const std::string& text, effects& out,
                          bool for_good, const std::string& remedy) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  host_.record_refusal(found->second.peer, reason, text);
  host_.send(number, close_notice{text, for_good, for_good, remedy});
  drop(number, out);
}

/// A message that a node may not send, or not yet.
void gateway_role::refuse_out_of_turn(session_number number, effects& out) {
  const auto found = sessions_.find(number);
  if (found == sessions_.end()) return;
  const auto* const text =
      found->second.open ? "sent a message that nodes do not send" : "did not say first that it is ready";
  refuse(number, admission_refusal::out_of_turn, text, out);
}

/// An update of another shape is also counted as unasked: its task is unknown, and is lost with the session.
void gateway_role::refuse_undecodable(session_number number, const error& reason, effects& out) {
  if (reason.place.starts_with("update.")) host_.record_unasked(rejection::wrong_shape);
  refuse(number, admission_refusal::bad_frame, reason.text(), out);
}

/// Until then only a hello is accepted from it.
void gateway_role::admit(session_number number, session& node) {
  node.welcomed = true;
  node.covered = welcome_.covered;
  auto content = welcome_;
  const auto rule = e_.settings.network->kernels;
  content.kernel_level = level_of_run(rule, content.kernel_level);
  node.hello.kernel_level = level_of_run(rule, node.hello.kernel_level);
  host_.admitted(number);
  host_.send(number, std::move(content));
}

/// Attaches the node. Not earlier: it may be unable to run the scenario, and another node may have its clients.
void gateway_role::attach(session_number number, const protocol::ready& message, effects& out) {
  auto& node = sessions_.at(number);
  if (!node.welcomed || node.open || message.run != welcome_.run)
    return refuse(number, admission_refusal::out_of_turn, "sent ready before its welcome", out);
  const auto& clients = node.hello.clients;
  const auto hosted = std::uint64_t{clients.last} - clients.first + 1;
  if (message.sizes.size() != hosted)
    return refuse(number, admission_refusal::bad_frame,
                  "declares the sizes of " + std::to_string(message.sizes.size()) + " clients, and hosts " +
                      std::to_string(hosted),
                  out);
  node.open = true;
  node.hello.claim = message.claim;
  if (node.covered != welcome_.covered) host_.send(number, protocol::checkpointed{welcome_.covered});
  host_.log(log_level::info, "node " + node.peer.name + ": clients " + std::to_string(clients.first) + " to " +
                                 std::to_string(clients.last) + " are connected");
  machine_.on_hello(number, node.hello, host_.now(), out, message.sizes);
  node.hello.holding = {};  // frees the list, which can be long and was passed on
}

/// A node that reconnects has abandoned an earlier session in which it was not ready yet. Ends such sessions, because
/// their lists of held tasks take memory.
void gateway_role::end_unready(session_number number, effects& out) {
  const auto& node = sessions_.at(number);
  if (node.peer.name.empty()) return;  // without certificates it may be another node
  std::vector<session_number> earlier;
  for (const auto& [other, session] : sessions_)
    if (other != number && session.greeted && !session.open && session.peer.name == node.peer.name &&
        session.hello.clients.overlaps(node.hello.clients))
      earlier.push_back(other);
  for (const auto other : earlier) {
    host_.send(other, close_notice{"the node began another session", false});
    drop(other, out);
  }
}

/// Whether a node may host its clients; else it is refused.
bool gateway_role::check_clients(session_number number, const protocol::hello& hello, effects& out) {
  const auto& node = sessions_.at(number);
  const auto& [first, last] = hello.clients;
  const auto refuse_for_good = [&](const std::string& text, const std::string& remedy = {}) {
    refuse(number, admission_refusal::not_its_clients, text, out, true, remedy);
    return false;
  };
  if (options_.clients_of && !node.peer.trusted) {
    const auto allowed = options_.clients_of(node.peer.name);
    if (!allowed || !allowed->contains(first) || !allowed->contains(last))
      return refuse_for_good("its certificate does not allow it to host clients " + std::to_string(first) + " to " +
                             std::to_string(last));
  }
  const auto population = welcome_.facts.clients;
  if (last >= population)
    return refuse_for_good("there is no client " + std::to_string(last) + ": they are numbered from 0 to " +
                           std::to_string(population - 1));
  if (options_.check_hosted)
    if (const auto few = options_.check_hosted(hello.clients); !few)
      return refuse_for_good(few.error().reason, few.error().fix);
  const auto strange =
      std::ranges::find_if(hello.holding, [&](const task_id& task) { return !hello.clients.contains(task.client); });
  if (strange == hello.holding.end()) return true;
  refuse(number, admission_refusal::not_its_clients,
         "holds a task of client " + std::to_string(strange->client) + ", which is not its own", out);
  return false;
}

void gateway_role::greet(session_number number, protocol::hello&& hello, effects& out) {
  auto& node = sessions_.at(number);
  if (std::exchange(node.greeted, true)) return refuse(number, admission_refusal::out_of_turn, "sent hello twice", out);
  if (!check_clients(number, hello, out)) return;
  node.hello = std::move(hello);
  end_unready(number, out);
  host_.place({number,
               node.hello.avoid,
               node.hello.clients,
               node.hello.claim,
               {node.hello.kernel_level, node.hello.kernel_levels}});
}

void gateway_role::take(session_number number, protocol::control& message, effects& out) {
  if (auto* hello = std::get_if<protocol::hello>(&message)) return greet(number, std::move(*hello), out);
  if (const auto* notice = std::get_if<close_notice>(&message)) {
    host_.log(log_level::info, "node " + sessions_.at(number).peer.name + " leaves: " + notice->why);
    return drop(number, out, notice->failed ? notice->why : std::string());
  }
  if (const auto* ready = std::get_if<protocol::ready>(&message)) return attach(number, *ready, out);
  if (!sessions_.at(number).open) return refuse_out_of_turn(number, out);
  if (const auto* failed = std::get_if<protocol::task_failures>(&message))
    return machine_.on_failures(number, *failed, host_.now(), out);
  if (auto* letters = std::get_if<protocol::letters>(&message))
    return machine_.on_letters(number, std::move(*letters), out);
  auto* scores = std::get_if<protocol::evaluation_scores>(&message);
  if (scores == nullptr) return refuse_out_of_turn(number, out);
  if (const auto accepted = machine_.on_scores(number, std::move(*scores), out); !accepted)
    refuse_undecodable(number, accepted.error(), out);
}

void gateway_role::on_opened(session_number number, peer_facts peer) {
  if (over_) return host_.close(number);
  sessions_[number] = {std::move(peer)};
  if (leaving_) host_.send(number, close_notice{run_is_over, true});
}

void gateway_role::on_message(session_number number, protocol::control&& message) {
  if (over_ || !sessions_.contains(number)) return;
  effects out;
  take(number, message, out);
  finish(out);
}

void gateway_role::on_update(session_number number, const client_update& update, std::optional<std::uint64_t> bytes) {
  const auto found = sessions_.find(number);
  if (over_ || found == sessions_.end()) return;
  effects out;
  if (found->second.open) {
    const auto before = machine_.unasked();
    machine_.on_update(number, update, host_.now(), out, bytes);
    for (std::size_t reason = 0; reason < before.size(); ++reason)
      if (machine_.unasked()[reason] != before[reason]) host_.record_unasked(rejection(reason));
  } else {
    refuse_out_of_turn(number, out);
  }
  finish(out);
}

void gateway_role::on_dropped(session_number number, const task_id& task, drop_stage stage) {
  if (over_) return;
  effects out;
  machine_.on_dropped(number, task, stage, host_.now(), out);
  finish(out);
}

void gateway_role::on_unexpected(session_number number) {
  if (over_) return;
  effects out;
  refuse_out_of_turn(number, out);
  finish(out);
}

void gateway_role::on_undecodable(session_number number, const error& reason) {
  if (over_ || !sessions_.contains(number)) return;
  effects out;
  refuse_undecodable(number, reason, out);
  finish(out);
}

void gateway_role::on_closed(session_number number, const session_end& end) {
  const auto found = sessions_.find(number);
  if (over_ || found == sessions_.end()) return;
  // A peer without a hello was no node: admission control has counted any error.
  host_.log(found->second.greeted ? log_level::info : log_level::debug,
            "node " + found->second.peer.name + ": " + end.why);
  sessions_.erase(found);
  effects out;
  machine_.on_session_lost(number, host_.now(), out);
  finish(out);
}

void gateway_role::on_wake() {
  if (over_) return;
  effects out;
  machine_.on_timer(host_.now(), out);
  finish(out);
}

void gateway_role::refuse_denied(const std::function<bool(const peer_facts&)>& is_denied, const std::string& reason) {
  if (over_) return;
  std::vector<session_number> denied;
  for (const auto& [number, node] : sessions_)
    if (is_denied(node.peer)) denied.push_back(number);
  effects out;
  for (const auto number : denied) refuse(number, admission_refusal::denied, reason, out, true);
  finish(out);
}

// ---- the parent ----------------------------------------------------------------------------------------------------

void gateway_role::on_placed(const node_placement& place) {
  const auto found = sessions_.find(place.session);
  if (over_ || found == sessions_.end()) return;
  effects out;
  if (place.other_kernels) {
    refuse(place.session, admission_refusal::other_kernels, *place.other_kernels, out, true, same_kernels_remedy);
  } else if (place.other_store) {
    refuse(place.session, admission_refusal::other_store, *place.other_store, out, true, right_store_remedy);
  } else if (place.address.empty() || found->second.peer.trusted) {
    // A node with an operator certificate stays here: other gateways require a node's certificate.
    admit(place.session, found->second);
  } else {
    host_.send(place.session, protocol::redirect{place.address});
    drop(place.session, out);
  }
  finish(out);
}

void gateway_role::on_downward(const protocol::downward& content) {
  if (over_) return;
  effects out;
  std::visit([&](const auto& message) { obey(message, out); }, content);
  finish(out);
}

void gateway_role::end_sessions(const std::string& reason) {
  if (over_) return;
  std::vector<session_number> present;
  for (const auto& [number, node] : sessions_) present.push_back(number);
  effects out;
  for (const auto number : present) {
    host_.send(number, close_notice{reason, false});
    drop(number, out);
  }
  finish(out);
}

void gateway_role::obey(const protocol::assign& content, effects& out) {
  machine_.on_assignment(content.from, content.tasks, content.begins, host_.now(), out);
}
void gateway_role::obey(const protocol::close_request& content, effects& out) {
  machine_.on_close(content.version, content.enough, host_.now(), out);
}
void gateway_role::obey(const protocol::withdrawal& content, effects& out) {
  machine_.on_withdraw(content.tasks, host_.now(), out);
}
void gateway_role::obey(const protocol::verdicts& content, effects& out) { machine_.on_verdicts(content, out); }
void gateway_role::obey(const protocol::checkpointed& content, effects&) {
  welcome_.covered = content.version;
  for (const auto& [number, node] : sessions_)
    if (node.open) host_.send(number, content);
}
void gateway_role::obey(const protocol::evaluation_down& content, effects& out) {
  machine_.on_evaluation(content, out);
}
void gateway_role::obey(const protocol::letters& content, effects& out) { machine_.on_letters(content, out); }

void gateway_role::obey(const protocol::displaced& content, effects& out) {
  const auto found = std::ranges::find_if(sessions_, [&](const auto& entry) {
    return entry.second.open && entry.second.hello.instance == content.instance;
  });
  if (found == sessions_.end()) return;
  const auto reason = content.why.empty() ? std::string("another session of these clients began") : content.why;
  host_.log(log_level::info, "node " + found->second.peer.name + ": " + reason);
  host_.send(found->first, close_notice{reason, true, true, content.remedy});
  drop(found->first, out);
}

void gateway_role::obey(const close_notice& content, effects&) {
  for (const auto& [number, node] : sessions_) host_.send(number, content);
  // A node confirms the end of the run by closing its session. A second close notice ends the wait.
  if (content.final && !std::exchange(leaving_, true)) return;
  for (const auto& [number, node] : sessions_) host_.close(number);
  sessions_.clear();
  leaving_ = true;
}

}  // namespace furlong::federated::processes
