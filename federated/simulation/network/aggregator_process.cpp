// Aggregators of a simulated federation: trees of any depth.
#include "federated/settings/network.hpp"
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
        if (!takes_others_) in_.around.wrong("an aggregator without an operator port was found there");
        const auto copy = *other;
        children_->admit(self, copy);
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
        auto own = processes::own_kernels();
        parent_.send(protocol::branch_hello{"simulated", "a" + std::to_string(where()), here,
                                            takes_others_ ? here : std::string(), std::move(own.level),
                                            std::move(own.levels)});
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
  children_->known().end_all(said);
  children_.reset();
  models_.clear();
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
  parent.hear = [this, later](protocol::upward&& what) {
    later(0, [this, content = std::make_shared<protocol::upward>(std::move(what))] { hear(0, std::move(*content)); });
  };
  parent.hear_partial = [this, later](const partial_ptr& partial) {
    later(0, [this, partial] {
      in_.around.on_merged(id_, partial);
      hear(0, partial_aggregate(*partial));
    });
  };
  parent.place = [this, later](const processes::node_arrival& node) {
    later(0, [this, later, node] { later(0, [this, place = place_node(node)] { gateway_->on_placed(place); }); });
  };
  gateway_ = std::make_shared<simulated_gateway>(in_, processes::gateway_options{0, in_.clients_of}, welcome_,
                                                 std::move(parent), later);
  children_.emplace(in_, static_cast<processes::children_parent&>(*this),
                    [this](const partial_ptr& partial) { in_.around.on_merged(id_, partial); });
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
    models_.add(std::move(*from));
  } else if (const auto* given = std::get_if<protocol::assignment>(&what)) {
    auto share = models_.share_of(*given);
    if (!share) return in_.around.wrong("a share came before its model");
    if (given->begins) in_.around.on_share(id_);
    on_parent_message(std::move(*share));
  } else if (auto* asked = std::get_if<protocol::evaluation_request>(&what)) {
    auto request = models_.request_of(std::move(*asked));
    if (!request) return in_.around.wrong("an evaluation came before its model");
    on_parent_message(std::move(*request));
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

std::optional<std::string> aggregator_process::judge_kernels(const processes::kernel_offer& offer) {
  return processes::unlike_kernels(in_.e.settings.network->kernels, offer);
}

protocol::aggregator_place aggregator_process::place(const protocol::branch_hello& hello) {
  return relay_->place_aggregator(hello);
}

protocol::welcome aggregator_process::add(const protocol::branch_hello& hello) {
  auto content = welcome_;
  content.aggregator = relay_->add_child(hello);
  return content;
}

void aggregator_process::lose(std::uint32_t child, const std::string&) {
  protocol::relay_effects out;
  relay_->on_child_lost(child, out);
  perform(std::move(out));
}

void aggregator_process::hear(std::uint32_t child, protocol::upward&& content) {
  protocol::relay_effects out;
  if (auto sound = relay_->on_told(child, std::move(content), out); !sound) in_.around.wrong(sound.error().text());
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
  if (!children_->known().contains(to)) return in_.around.wrong("the relay knows child " + std::to_string(to));
  children_->known().send(to, what);
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
