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
        relay_->admit(self, copy);
      } else if (const auto* other = std::get_if<protocol::branch_hello>(&what); other != nullptr && relay_) {
        if (!takes_others_) in_.around.wrong("an aggregator without an operator port was found there");
        const auto copy = *other;
        relay_->admit(self, copy);
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

/// At the end of the run it waits for its nodes.
void aggregator_process::end(const protocol::close_notice& notice) {
  if (!relay_) return;
  relay_->on_downward(notice);
  if (notice.final) return;
  relay_.reset();
  models_.clear();
}

void aggregator_process::begin(const protocol::welcome& content) {
  pause_.reset();
  relay_parent parent;
  parent.hear = [this](protocol::upward&& report) { pass_up(std::move(report)); };
  parent.end = [] {};
  relay_.emplace(in_, content, std::move(parent),
                 [this](virtual_time wait, std::function<void()> action) { after(wait, std::move(action)); });
}

void aggregator_process::on_message(message&& content) {
  if (const auto* elsewhere = std::get_if<protocol::redirect>(&content)) {
    const auto next = host_of(elsewhere->address);
    parent_.close();
    parent_ = {};
    return attach_to(next);
  }
  if (const auto* welcome = std::get_if<protocol::welcome>(&content)) return begin(*welcome);
  if (const auto* said = std::get_if<protocol::close_notice>(&content)) {
    const auto notice = *said;
    parent_.close();
    end(notice);
    if (!notice.final) after(pause_.next(), [this] { start(); });
    return;
  }
  if (auto* model = std::get_if<broadcast_ptr>(&content)) return models_.add(std::move(*model));
  if (const auto* tasks = std::get_if<protocol::assignment>(&content)) {
    const auto share = models_.share_of(*tasks);
    return share ? relay_->on_downward(*share) : in_.around.wrong("a share came before its model");
  }
  if (auto* asked = std::get_if<protocol::evaluation_request>(&content)) {
    const auto request = models_.request_of(std::move(*asked));
    return request ? relay_->on_downward(*request) : in_.around.wrong("an evaluation came before its model");
  }
  split_message<protocol::downward>(
      std::move(content), [this](protocol::downward&& order) { relay_->on_downward(order); },
      [this](const auto&) { in_.around.wrong("an aggregator's parent sent a message of an unexpected kind"); });
}

void aggregator_process::pass_up(protocol::upward&& content) {
  if (auto* sent = std::get_if<partial_aggregate>(&content)) {
    const auto partial = std::make_shared<const partial_aggregate>(std::move(*sent));
    in_.around.on_sent(relay_->id(), partial);
    return parent_.send(partial);
  }
  std::visit(
      [&](auto& report) {
        if constexpr (requires { message(std::move(report)); }) parent_.send(std::move(report));
      },
      content);
}

}  // namespace furlong::federated::network
