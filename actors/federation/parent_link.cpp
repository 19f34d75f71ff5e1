#include "actors/federation/parent_link.hpp"

#include <chrono>
#include <spdlog/spdlog.h>

#include "actors/federation/relay.hpp"
#include "actors/federation/role_host.hpp"
#include "actors/federation/run_log.hpp"
#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/processes/uplink.hpp"
#include "federated/settings/network.hpp"
#include "wire/decode.hpp"
#include "wire/encode.hpp"

namespace furlong::actors::federation {

namespace {

constexpr auto look_around = std::chrono::milliseconds(50);

processes::uplink_settings settings_of(const parent_link_hooks& hooks) {
  return {hooks.parent.text(), hooks.hello, hooks.give_up};
}

}  // namespace

/// What the role asks of the process. Calls of the role come from the actor's handlers alone.
class uplink_host final : public role_host<processes::uplink_surroundings> {
 public:
  uplink_host(parent_link_pointer self, parent_link_hooks hooks, processes::backoff pause)
      : self_(self), hooks_(std::move(hooks)), role_(*this, settings_of(hooks_), std::move(pause)) {}

  /// Does something with the role, and then what the role asks for.
  template <class Event>
  void handle(Event event) {
    event(role_);
    go_on();
  }

  void read(const session_frame& received);
  void look() {
    if (hooks_.stop->load(std::memory_order_relaxed)) role_.on_stop();
    role_.on_wake();
  }
  /// Whether the message under way is of the relay that is open: one that was given up is ignored.
  [[nodiscard]] bool is_of_relay() const { return relay_ && self_->current_sender() == relay_; }
  void on_down(const caf::down_msg& down);
  void on_relay_ended(const std::string& reason) {
    if (relay_) role_.on_relay_ended(reason);
  }

 private:
  using role_host::send;

  void wake(federated::virtual_time) override {}  // look() is often enough
  void connect(protocol::session_number session, const std::string& address) override;
  void send(protocol::session_number session, const processes::partial_ptr& partial) override;
  /// Before the run is known more is accepted, because a model may follow the welcome.
  void admitted(protocol::session_number session) override {
    if (auto* const channel = find(session)) channel->limit(run_->e.settings.network->max_message);
  }
  void prepare(const protocol::welcome& content) override { to_prepare_ = content; }
  void open_relay(const protocol::welcome& content) override;
  void tell_relay(downward&& content) override {
    self_->send(relay_, to_branch{std::make_shared<const downward>(std::move(content))});
  }
  void close_relay(const protocol::close_notice& notice) override;
  void violated(const std::string& why) override { spdlog::error("the parent: {}", why); }
  void over(const processes::uplink_end& end) override {
    hooks_.on_over(end.why, end.failure);
    self_->quit();
  }
  void on_unsendable(const error& reason) override {
    if (!unsent_) unsent_ = reason;
  }

  void go_on();
  [[nodiscard]] result<void> prepare_run(const protocol::welcome& content);

  parent_link_pointer self_;
  parent_link_hooks hooks_;
  processes::uplink role_;
  std::optional<error> unsent_;                    ///< a message could not be encoded: the parent would wait for it
  std::optional<protocol::welcome> to_prepare_;    ///< the run that is to be prepared
  std::shared_ptr<const federation_context> run_;  ///< of the relay
  relay_actor relay_;
  gateway_actor gateway_;  ///< of the relay
  std::optional<wire::decoder> decoder_;
  std::optional<wire::encoder> encoder_;
};

// ---- the session ---------------------------------------------------------------------------------------------------

void uplink_host::connect(protocol::session_number session, const std::string& address) {
  decoder_.emplace(nullptr);  // only control messages, until the run is known
  encoder_.reset();
  const auto target = address == hooks_.parent.text() ? result<net::host_port>(hooks_.parent)  // as it was given
                                                      : net::parse_address(address);
  if (!target) return self_->send(self_, session_closed{session, target.error().text()});
  hooks_.open(session_events(self_), *target, session);
}

void uplink_host::send(protocol::session_number session, const processes::partial_ptr& partial) {
  auto* const channel = find(session);
  if (channel == nullptr) return;
  auto frame = encoder_->encode(*partial);
  if (!frame) return on_unsendable(frame.error());
  channel->send(std::move(*frame));
}

void uplink_host::read(const session_frame& received) {
  if (!is_open(received.session)) return;
  auto message = decoder_->decode(received.frame->bytes());
  if (!message) return role_.on_undecodable(received.session, message.error());
  if (const auto* sent = std::get_if<wire::broadcast_view>(&*message)) {
    auto model = std::make_shared<federated::broadcast>();
    decoder_->copy(*sent, *model);
    return role_.on_model(received.session, std::move(model));
  }
  auto control = narrow_variant<wire::control>(std::move(*message));
  if (!control) return role_.on_unexpected(received.session);
  role_.on_message(received.session, std::move(*control));
}

// ---- the run and its relay -----------------------------------------------------------------------------------------

void uplink_host::go_on() {
  while (unsent_ || to_prepare_) {
    if (unsent_)
      role_.on_run_failure(*std::exchange(unsent_, std::nullopt));
    else
      role_.on_prepared(prepare_run(*std::exchange(to_prepare_, std::nullopt)));
  }
}

result<void> uplink_host::prepare_run(const protocol::welcome& content) {
  auto run = hooks_.prepare(content);
  if (!run) return tl::unexpected(run.error());
  run_ = std::move(*run);
  const auto& e = run_->e;
  encoder_.emplace(e.parts.down, e.parts.up);
  decoder_.emplace(e.parts.down, e.parts.up, federated::rule_sizes_of(e));
  log_run(e.run);
  return {};
}

void uplink_host::open_relay(const protocol::welcome& content) {
  relay_ = self_->spawn(relay_behavior, run_, upward_actor(self_), content);
  gateway_options options;
  options.number = processes::own_gateway_number;
  options.clients_of = hooks_.clients_of;
  options.admission = hooks_.admission;
  auto own = content;
  own.aggregator = options.number;
  gateway_ = self_->spawn(gateway_behavior, run_, parent_actor(relay_), std::move(own), std::move(options));
  self_->send(relay_, own_gateway{gateway_});
  self_->monitor(relay_);
  self_->monitor(gateway_);
  hooks_.on_open(run_, gateway_, relay_);
}

void uplink_host::close_relay(const protocol::close_notice& notice) {
  hooks_.on_shut();
  tell_relay(notice);
  if (notice.final) return;
  relay_ = nullptr;
  gateway_ = nullptr;
}

/// Both end on request, and are then released already unless the run is over.
void uplink_host::on_down(const caf::down_msg& down) {
  const auto reason = caf::to_string(down.reason);
  if (relay_ && relay_.address() == down.source)
    self_->send(self_, branch_gone{0, reason});  // after its last messages
  else if (gateway_ && gateway_.address() == down.source)
    handle([&](processes::uplink& role) { role.on_gateway_ended(reason); });
}

parent_link_actor::behavior_type parent_link_behavior(parent_link_pointer self, parent_link_hooks hooks,
                                                      processes::backoff pause) {
  // The state owns the host: handlers that own it too would keep the actor, and with it the channel, alive.
  auto& link = *(self->state.host = std::make_shared<uplink_host>(self, std::move(hooks), std::move(pause)));
  self->set_down_handler([&link](const caf::down_msg& down) { link.on_down(down); });
  link.handle([](processes::uplink& role) { role.start(); });
  self->send(self, tick{});
  return {
      [&link](const session_opened& opened) {
        link.open(opened.session, opened.channel);
        link.handle([&](processes::uplink& role) { role.on_opened(opened.session); });
      },
      [&link](const session_frame& received) { link.handle([&](auto&) { link.read(received); }); },
      [&link](const session_closed& closed) {
        link.forget(closed.session);
        link.handle([&](processes::uplink& role) { role.on_closed(closed.session, {closed.why, closed.denied}); });
      },
      [&link](const from_branch& message) {
        if (link.is_of_relay()) link.handle([&](processes::uplink& role) { role.on_upward(std::move(*message.what)); });
      },
      [&link](const run_failure& message) {
        if (link.is_of_relay()) link.handle([&](processes::uplink& role) { role.on_run_failure(message.why); });
      },
      [&link](const branch_gone& gone) { link.handle([&](auto&) { link.on_relay_ended(gone.why); }); },
      [self, &link](const tick&) {
        link.handle([&](auto&) { link.look(); });
        self->delayed_send(self, look_around, tick{});
      },
  };
}

}  // namespace furlong::actors::federation
