// Gateways of a simulated federation, in the server and in aggregators.
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

gateway_shell::gateway_shell(shared_world& in, std::uint32_t number, protocol::welcome content,
                             std::function<void(message)> to_parent, scheduler later)
    : in_(in),
      id_(++in.last_id),
      machine_(in.e, number),
      welcome_(std::move(content)),
      to_parent_(std::move(to_parent)),
      later_(std::move(later)) {}

void gateway_shell::admit(const link_ptr& through, const protocol::hello& from) {
  const auto number = next_++;
  auto& node = sessions_[number];
  node.to = {through, 1};
  through->side(1).on_message = [this, number](message&& what) { on_message(number, std::move(what)); };
  through->side(1).on_closed = [this, number] { lose(number); };
  node.hello = from;
  node.covered = welcome_.covered;
  node.to.send(welcome_);
}

void gateway_shell::lose(session_number number) {
  if (sessions_.erase(number) == 0) return;
  protocol::gateway_effects out;
  machine_.on_session_lost(number, in_.net.clock.now(), out);
  perform(std::move(out));
}

void gateway_shell::on_ready(session_number from, protocol::ready&& made, protocol::gateway_effects& out) {
  const auto at = sessions_.find(from);
  if (at == sessions_.end()) return;  // it was ended from here
  auto& node = at->second;
  if (std::exchange(node.ready, true)) in_.around.wrong("a node said twice that it is ready");
  if (node.covered != welcome_.covered) node.to.send(protocol::checkpointed{welcome_.covered});
  machine_.on_hello(from, node.hello, in_.net.clock.now(), out, std::move(made.sizes));
}

void gateway_shell::on_message(session_number from, message&& what) {
  protocol::gateway_effects out;
  const auto now = in_.net.clock.now();
  if (const auto* update = std::get_if<update_ptr>(&what)) {
    in_.around.on_update(id_, *update);
    machine_.on_update(from, **update, now, out);
  } else if (const auto* failed = std::get_if<protocol::task_failures>(&what)) {
    machine_.on_failures(from, *failed, now, out);
  } else if (const auto* gone = std::get_if<client_dropped>(&what)) {
    machine_.on_dropped(from, gone->task, gone->stage, now, out);
  } else if (auto* scores = std::get_if<protocol::evaluation_scores>(&what)) {
    if (auto sound = machine_.on_scores(from, std::move(*scores), out); !sound) in_.around.wrong(sound.error().text());
  } else if (auto* some = std::get_if<protocol::letters>(&what)) {
    machine_.on_letters(from, std::move(*some), out);
  } else if (auto* made = std::get_if<protocol::ready>(&what)) {
    on_ready(from, std::move(*made), out);
  } else if (std::holds_alternative<protocol::close_notice>(what)) {
    const auto at = sessions_.find(from);
    if (at == sessions_.end()) return;
    at->second.to.close();
    sessions_.erase(at);
    machine_.on_session_lost(from, now, out);
  } else {
    in_.around.wrong("a gateway was sent something that is not for it");
  }
  perform(std::move(out));
}

void gateway_shell::on_parent_message(message&& what) {
  protocol::gateway_effects out;
  const auto now = in_.net.clock.now();
  if (auto* from = std::get_if<broadcast_ptr>(&what)) {
    model_ = std::move(*from);
  } else if (const auto* given = std::get_if<protocol::assignment>(&what)) {
    if (!model_ || model_->version != given->version) return in_.around.wrong("a share came before its model");
    std::vector<task_id> tasks;
    for (const auto& one : given->tasks) tasks.push_back({given->run, given->version, one.client, one.attempt});
    if (given->begins) in_.around.on_share(id_);
    machine_.on_assignment(model_, tasks, given->begins, now, out);
  } else if (const auto* close = std::get_if<protocol::close_request>(&what)) {
    machine_.on_close(close->version, close->enough, now, out);
  } else if (const auto* back = std::get_if<protocol::withdrawal>(&what)) {
    machine_.on_withdraw(back->tasks, now, out);
  } else if (const auto* judged = std::get_if<protocol::verdicts>(&what)) {
    machine_.on_verdicts(*judged, out);
  } else if (auto* asked = std::get_if<protocol::evaluation_request>(&what)) {
    if (!model_ || model_->version != asked->version) return in_.around.wrong("an evaluation came before its model");
    machine_.on_evaluation({model_, std::move(asked->clients)}, out);
  } else if (const auto* some = std::get_if<protocol::letters>(&what)) {
    machine_.on_letters(*some, out);
  } else if (const auto* durable = std::get_if<protocol::checkpointed>(&what)) {
    welcome_.covered = durable->version;
    for (auto& [number, node] : sessions_)
      if (node.ready) node.to.send(*durable);
  } else {
    in_.around.wrong("a gateway's parent said something that is not for it");
  }
  perform(std::move(out));
}

void gateway_shell::tell(protocol::upward what) {
  if (auto* some = std::get_if<protocol::settled>(&what)) {
    for (const auto& one : some->each) in_.around.on_settled(id_, one);
    to_parent_(std::move(*some));
  } else if (auto* sent = std::get_if<partial_aggregate>(&what)) {
    const auto partial = std::make_shared<const partial_aggregate>(std::move(*sent));
    in_.around.on_sent(id_, partial);
    to_parent_(partial);
  } else {
    std::visit(
        [this](auto& other) {
          if constexpr (requires { message(std::move(other)); }) to_parent_(std::move(other));
        },
        what);
  }
}

/// After the model that it is about.
void gateway_shell::send_with_model(session_number to, const broadcast_ptr& from, message what) {
  const auto at = sessions_.find(to);
  if (at == sessions_.end()) return;
  if (std::exchange(at->second.model, from->version) != from->version) at->second.to.send(from);
  at->second.to.send(std::move(what));
}

void gateway_shell::perform(protocol::gateway_effects effects) {
  for (auto& effect : effects) {
    if (auto* sent = std::get_if<protocol::tell_node>(&effect)) {
      if (const auto* given = std::get_if<protocol::assign>(&sent->content))
        send_with_model(sent->session, given->from, protocol::message_of(*given));
      else if (auto* asked = std::get_if<protocol::evaluation_down>(&sent->content))
        send_with_model(sent->session, asked->from,
                        protocol::evaluation_request{asked->from->version, std::move(asked->clients)});
      else if (const auto at = sessions_.find(sent->session); at == sessions_.end())
        continue;
      else if (auto* some = std::get_if<protocol::letters>(&sent->content))
        at->second.to.send(std::move(*some));
      else
        at->second.to.send(std::get<protocol::verdicts>(std::move(sent->content)));
    } else if (auto* gone = std::get_if<protocol::end_session>(&effect)) {
      const auto at = sessions_.find(gone->session);
      if (at == sessions_.end()) continue;
      at->second.to.close();
      sessions_.erase(at);
    } else if (auto* up = std::get_if<protocol::tell_parent>(&effect)) {
      tell(std::move(up->content));
    } else {
      const auto wait = std::get<protocol::wake>(effect).at - in_.net.clock.now();
      later_(wait, [this] {
        protocol::gateway_effects out;
        machine_.on_timer(in_.net.clock.now(), out);
        perform(std::move(out));
      });
    }
  }
}

void gateway_shell::end(const std::optional<protocol::close_notice>& last) {
  for (auto& [number, node] : std::exchange(sessions_, {})) {
    if (last) node.to.send(*last);
    node.to.close();
  }
}

}  // namespace furlong::federated::network
