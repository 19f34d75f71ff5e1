#include "federated/simulation/network/aggregator_process.hpp"

#include <utility>
#include <variant>

#include "base/narrow_variant.hpp"

namespace furlong::federated::network {

namespace {

processes::uplink_settings settings_of(host process, bool takes_others) {
  const auto here = address_of(process);
  return {address_of(server_host),
          {"simulated", "a" + std::to_string(process), here, takes_others ? here : std::string()}};
}

}  // namespace

aggregator_process::aggregator_process(shared_world& in, host at, bool takes_others)
    : calling_process(in, at), takes_others_(takes_others), role_(*this, settings_of(at, takes_others), pause_) {}

void aggregator_process::start() {
  in_.net.listeners[where()] = [this](const link_ptr& through) {
    through->side(1).on_message = [this, raw = through.get()](message&& content) {
      accept(raw->shared_from_this(), content);
    };
  };
  role_.start();
}

/// The first message over a link decides whose it is.
void aggregator_process::accept(const link_ptr& through, const message& content) {
  if (!accepts_) return through->close(1);
  if (const auto* node = std::get_if<protocol::hello>(&content)) return relay_->admit(through, *node);
  const auto* aggregator = std::get_if<protocol::branch_hello>(&content);
  if (aggregator == nullptr) return through->close(1);
  if (!takes_others_) in_.around.wrong("an aggregator without an operator port was found there");
  relay_->admit(through, *aggregator);
}

// ---- the parent ----------------------------------------------------------------------------------------------------

void aggregator_process::on_arrival(session_number session, message&& content) {
  if (auto* model = std::get_if<broadcast_ptr>(&content)) return role_.on_model(session, std::move(*model));
  auto control = narrow_variant<protocol::control>(std::move(content));
  if (!control) return role_.on_unexpected(session);
  role_.on_message(session, std::move(*control));
}

void aggregator_process::send(session_number session, const partial_ptr& partial) {
  in_.around.on_sent(relay_->id(), partial);
  put(session, partial);
}

void aggregator_process::prepare(const protocol::welcome&) {
  after(0, [this] { role_.on_prepared({}); });
}

void aggregator_process::over(const processes::uplink_end& end) {
  if (end.failure) in_.around.on_failure(*end.failure);
}

// ---- the relay -----------------------------------------------------------------------------------------------------

void aggregator_process::later(std::uint64_t relay, std::function<void()> action) {
  after(0, [this, relay, action = std::move(action)] {
    if (relay_ && relay == relays_) action();
  });
}

void aggregator_process::open_relay(const protocol::welcome& content) {
  relay_parent parent;
  const auto number = ++relays_;
  // As between actors: in order, and not at once.
  parent.hear = [this, number](protocol::upward&& report) {
    later(number, [this, shared = std::make_shared<protocol::upward>(std::move(report))] {
      role_.on_upward(std::move(*shared));
    });
  };
  parent.end = [this, number] { later(number, [this] { role_.on_relay_ended("its children have left"); }); };
  relay_ = std::make_shared<simulated_relay>(
      in_, content, std::move(parent),
      [this](virtual_time wait, std::function<void()> action) { after(wait, std::move(action)); });
  accepts_ = true;
}

void aggregator_process::tell_relay(protocol::downward&& content) {
  after(0, [relay = relay_, shared = std::make_shared<protocol::downward>(std::move(content))] {
    relay->on_downward(*shared);
  });
}

void aggregator_process::close_relay(const protocol::close_notice& notice) {
  accepts_ = false;
  tell_relay(notice);
  if (!notice.final) relay_.reset();
}

}  // namespace furlong::federated::network
