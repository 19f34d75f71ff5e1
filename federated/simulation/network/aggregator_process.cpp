// Aggregators of a simulated federation: trees of any depth.
#include "federated/simulation/network/processes.hpp"

namespace furlong::federated::network {

void aggregator_process::start() {
  in_.net.listeners[where()] = [this](const link_ptr& through) {
    through->side(1).on_message = [this, raw = through.get()](message&& what) {
      const auto self = raw->shared_from_this();
      if (const auto* node = std::get_if<protocol::hello>(&what); node != nullptr && relay_) {
        const auto copy = *node;
        gateway_->admit(self, copy);
      } else if (const auto* other = std::get_if<protocol::branch_hello>(&what); other != nullptr && relay_) {
        const auto copy = *other;
        admit_aggregator(self, copy);
      } else {
        self->close(1);
      }
    };
  };
  attach_to(server_host);
}

void aggregator_process::attach_to(host parent) {
  connect(
      parent,
      [this](const link_ptr& through) {
        parent_ = {through, 0};
        through->side(0).on_message = [this](message&& what) { on_message(std::move(what)); };
        through->side(0).on_closed = [this] { lost(); };
        const auto here = address_of(where());
        parent_.send(protocol::branch_hello{"simulated", "a" + std::to_string(where()), here,
                                            takes_others_ ? here : std::string()});
      },
      [this] { lost(); });
}

// ---- the parent ----------------------------------------------------------------------------------------------------

/// The parent is lost: discards all state, and connects to the server as a new aggregator.
void aggregator_process::lost() {
  parent_ = {};
  end(protocol::close_notice{"the parent is lost", false});
  after(pause_.next(), [this] { start(); });
}

void aggregator_process::end(const protocol::close_notice& said) {
  if (!relay_) return;
  for (auto& [number, one] : std::exchange(children_, {})) {
    one.to->send(said);
    one.to->close();
  }
  // After what it was sent before. At the end of the run it waits for its nodes.
  after(0, [gateway = said.final ? gateway_ : std::move(gateway_), said] { gateway->on_downward(said); });
  relay_.reset();
  id_ = ++in_.last_id;
}

void aggregator_process::begin(const protocol::welcome& got) {
  pause_.reset();
  welcome_ = got;
  welcome_.aggregator = 0;
  relay_.emplace(in_.e, got.aggregator, in_.e.clients->facts().clients);
  id_ = ++in_.last_id;
  // As between actors: in order, and not at once.
  const auto later = [this, id = id_](virtual_time wait, std::function<void()> then) {
    after(wait, [this, id, then = std::move(then)] {
      if (id == id_) then();
    });
  };
  gateway_parent parent;
  parent.hear = [this, later](message&& what) {
    later(0,
          [this, content = std::make_shared<message>(std::move(what))] { on_child_message(0, std::move(*content)); });
  };
  parent.place = [this, later](const processes::node_arrival& node) {
    later(0, [this, later, node] { later(0, [this, place = place_node(node)] { gateway_->on_placed(place); }); });
  };
  gateway_ = std::make_shared<simulated_gateway>(in_, processes::gateway_options{0, in_.clients_of}, welcome_,
                                                 std::move(parent), later);
}

void aggregator_process::on_message(message&& what) {
  if (const auto* to = std::get_if<protocol::redirect>(&what)) {
    const auto next = host_of(to->address);
    parent_.close();
    parent_ = {};
    return attach_to(next);
  }
  if (const auto* got = std::get_if<protocol::welcome>(&what)) return begin(*got);
  if (const auto* said = std::get_if<protocol::close_notice>(&what)) {
    const auto copy = *said;
    parent_.close();
    end(copy);
    if (!copy.final) after(pause_.next(), [this] { start(); });
    return;
  }
  if (auto* from = std::get_if<broadcast_ptr>(&what)) {
    model_ = std::move(*from);
  } else if (const auto* given = std::get_if<protocol::assignment>(&what)) {
    if (!model_ || model_->version != given->version) return in_.around.wrong("a share came before its model");
    protocol::assign share{0, model_, {}, given->begins};
    for (const auto& one : given->tasks) share.tasks.push_back({given->run, given->version, one.client, one.attempt});
    if (given->begins) in_.around.on_share(id_);
    on_parent_message(std::move(share));
  } else if (auto* asked = std::get_if<protocol::evaluation_request>(&what)) {
    if (!model_ || model_->version != asked->version) return in_.around.wrong("an evaluation came before its model");
    on_parent_message(protocol::evaluation_down{model_, std::move(asked->clients)});
  } else if (const auto* close = std::get_if<protocol::close_request>(&what)) {
    on_parent_message(*close);
  } else if (auto* some = std::get_if<protocol::letters>(&what)) {
    on_parent_message(std::move(*some));
  } else if (auto* back = std::get_if<protocol::withdrawal>(&what)) {
    on_parent_message(std::move(*back));
  } else if (auto* judged = std::get_if<protocol::verdicts>(&what)) {
    on_parent_message(std::move(*judged));
  } else if (const auto* durable = std::get_if<protocol::checkpointed>(&what)) {
    welcome_.covered = durable->version;
    on_parent_message(*durable);
  } else {
    in_.around.wrong("an aggregator's parent sent a message of an unexpected kind");
  }
}

void aggregator_process::on_parent_message(protocol::downward what) {
  protocol::relay_effects out;
  relay_->on_order(what, out);
  perform(std::move(out));
}

// ---- children ------------------------------------------------------------------------------------------------------

processes::node_placement aggregator_process::place_node(const processes::node_arrival& node) {
  return {node.session, relay_->routes().gateway_with_fewer(node.clients, node.avoid)};
}

void aggregator_process::admit_aggregator(const link_ptr& through, const protocol::branch_hello& hello) {
  if (!takes_others_) return in_.around.wrong("an aggregator without an operator port was found there");
  const auto place = relay_->place_aggregator(hello);
  if (!place.here) return in_.send_elsewhere(through, place);
  const auto number = relay_->add_child(hello);
  children_[number].to = port{through, 1};
  through->side(1).on_message = [this, number](message&& what) { on_child_message(number, std::move(what)); };
  through->side(1).on_closed = [this, number] { lose(number); };
  auto content = welcome_;
  content.aggregator = number;
  children_[number].to->send(std::move(content));
}

void aggregator_process::lose(std::uint32_t number) {
  if (children_.erase(number) == 0 || !relay_) return;
  protocol::relay_effects out;
  relay_->on_child_lost(number, out);
  perform(std::move(out));
}

void aggregator_process::on_child_message(std::uint32_t by, message&& what) {
  if (const auto* sent = std::get_if<partial_ptr>(&what)) {
    in_.around.on_merged(id_, *sent);
    return on_told(by, **sent);
  }
  split_message<protocol::upward>(
      std::move(what), [&](protocol::upward&& up) { on_told(by, std::move(up)); },
      [&](const auto&) { in_.around.wrong("an aggregator received a message of an unexpected kind"); });
}

void aggregator_process::on_told(std::uint32_t by, protocol::upward&& what) {
  if (!relay_) return;
  protocol::relay_effects out;
  if (auto sound = relay_->on_told(by, std::move(what), out); !sound) in_.around.wrong(sound.error().text());
  perform(std::move(out));
}

void aggregator_process::perform(protocol::relay_effects effects) {
  for (auto& effect : effects) {
    if (auto* down = std::get_if<protocol::tell_child>(&effect))
      pass_down(down->child, std::move(down->content));
    else
      pass_up(std::move(std::get<protocol::tell_parent>(effect).content));
  }
}

void aggregator_process::pass_down(std::uint32_t to, protocol::downward&& what) {
  if (const auto* share = std::get_if<protocol::assign>(&what))
    for (const auto& task : share->tasks)
      if (task.version != share->from->version) in_.around.wrong(text_of(task) + " was passed on with another model");
  if (to == 0)
    return after(0, [gateway = gateway_, what = std::make_shared<protocol::downward>(std::move(what))] {
      gateway->on_downward(*what);
    });
  const auto at = children_.find(to);
  if (at == children_.end()) return in_.around.wrong("the relay knows child " + std::to_string(to));
  at->second.send(std::move(what));
}

void aggregator_process::pass_up(protocol::upward&& what) {
  if (auto* sent = std::get_if<partial_aggregate>(&what)) {
    const auto partial = std::make_shared<const partial_aggregate>(std::move(*sent));
    in_.around.on_sent(id_, partial);
    return parent_.send(partial);
  }
  std::visit(
      [&](auto& other) {
        if constexpr (requires { message(std::move(other)); }) parent_.send(std::move(other));
      },
      what);
}

}  // namespace furlong::federated::network
