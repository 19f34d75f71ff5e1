#include "actors/federation/node.hpp"

#include <spdlog/spdlog.h>
#include <variant>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/role_host.hpp"
#include "actors/federation/run_log.hpp"
#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

/// How often a node looks whether it is to stop, and whether a time has come that its role waits for.
constexpr auto tick_interval = std::chrono::milliseconds(50);

}  // namespace

/// What the role asks of the process. Calls of the role come from the actor's handlers alone.
class node_host final : public role_host<processes::node_surroundings> {
 public:
  node_host(node_pointer self, processes::node_settings settings, std::size_t workers, processes::backoff pause,
            node_hooks hooks)
      : self_(self), hooks_(std::move(hooks)), role_(*this, std::move(settings), std::move(pause)) {
    for (std::size_t i = 0; i < workers; ++i)
      workers_.push_back(self->spawn<caf::linked>(worker_behavior, node_actor(self)));
    idle_ = workers_;
  }

  /// Does something with the role, and then what the role asks for. An exception ends the node.
  template <class Event>
  void handle(Event event) {
    if (role_.is_over()) return;
    const auto failed = guarded("the node", [&] {
      event(role_);
      go_on();
    });
    if (failed) role_.fail("it failed", *failed);
  }

  void on_opened(const session_opened& opened) {
    open(opened.session, opened.channel);
    role_.on_opened(opened.session);
  }
  void on_closed(const session_closed& closed) {
    forget(closed.session);
    role_.on_closed(closed.session, {closed.why, closed.denied});
  }
  void read(const session_frame& received);
  void look();
  /// The sender is a worker that is done.
  void free_worker() { idle_.push_back(caf::actor_cast<worker_actor>(self_->current_sender())); }

 private:
  void wake(federated::virtual_time) override {}  // look() is often enough
  void connect(protocol::session_number session, const std::string& address) override {
    hooks_.open(session_events(self_), address, session);
  }
  using role_host::send;
  void send(protocol::session_number session, protocol::control content) override;
  void send(protocol::session_number session, const processes::outgoing_update_ptr& update) override {
    if (auto* const channel = find(session)) channel->send(static_cast<const update_frame&>(*update).frame);
  }
  /// Before a node knows the run it accepts more, because a model may follow the welcome.
  void admitted(protocol::session_number session) override {
    if (auto* const channel = find(session)) channel->limit(role_.run()->e->settings.network->max_message);
  }
  void on_unsendable(const error& reason) override {
    if (!unsent_) unsent_ = reason;
  }
  void prepare(const protocol::welcome& content) override {
    decoder_.reset();
    to_prepare_ = content;
  }
  [[nodiscard]] result<processes::outgoing_update_ptr> encode(const processes::node_run& run,
                                                              federated::client_update&& update) override {
    return wire::encoder(run.e->parts.down, run.e->parts.up)
        .encode(update, wire::format_of(*run.e->settings.network))
        .map([](wire::encoded&& frame) -> processes::outgoing_update_ptr {
          return std::make_shared<const update_frame>(std::move(frame));
        });
  }
  void violated(const std::string& why) override { spdlog::error("the gateway: {}", why); }
  void heard(const protocol::verdicts& content) override { log_verdicts(content); }
  void stored(const federated::task_id&, federated::virtual_time) override {}
  void ended(const processes::node_end& end) override {
    for (const auto& worker : workers_) self_->send_exit(worker, caf::exit_reason::user_shutdown);
    hooks_.on_over(end.why, end.failure);
    self_->quit();
  }

  void go_on();
  void open_run();
  void start(federated::training_job&& job);
  void start(processes::scoring&& asked);
  [[nodiscard]] worker_actor take_worker();

  node_pointer self_;
  node_hooks hooks_;
  processes::node_role role_;
  std::optional<error> unsent_;                  ///< a message could not be encoded: the server would wait for it
  std::optional<protocol::welcome> to_prepare_;  ///< the run that is to be opened
  std::optional<wire::decoder> decoder_;         ///< of the open run
  std::shared_ptr<unscored_warnings> unscored_;  ///< of the open run
  std::vector<worker_actor> workers_;
  std::vector<worker_actor> idle_;
  bool draining_ = false;
};

// ---- messages ------------------------------------------------------------------------------------------------------

/// Scores of a client that are too long for a gateway are left out.
void node_host::send(protocol::session_number session, protocol::control content) {
  auto* const scores = std::get_if<protocol::evaluation_scores>(&content);
  if (scores == nullptr) return role_host::send(session, std::move(content));
  if (auto* const channel = find(session))
    expect(send_scores(*channel, std::move(*scores), most_predictions(*role_.run()->e)));
}

void node_host::read(const session_frame& received) {
  if (!is_open(received.session)) return;
  // Before the run is known only control messages are read.
  wire::decoder control(nullptr);
  auto& decoder = decoder_ ? *decoder_ : control;
  const auto bytes = received.frame->bytes();
  auto decoded = decoder.decode(bytes);
  if (!decoded) return role_.on_unreadable(received.session, decoded.error().text());
  if (const auto* welcome = std::get_if<protocol::welcome>(&*decoded)) log_run(welcome->run);
  if (const auto* sent = std::get_if<wire::broadcast_view>(&*decoded)) {
    auto model = std::make_shared<federated::broadcast>();
    decoder.copy(*sent, *model);
    return role_.on_model(received.session, std::move(model));
  }
  auto content = narrow_variant<wire::control>(std::move(*decoded));
  if (!content) return role_.on_unreadable(received.session, "sent a message that gateways do not send");
  role_.on_message(received.session, std::move(*content), bytes.size());
}

void node_host::look() {
  if (hooks_.stop->load(std::memory_order_relaxed) && !std::exchange(draining_, true)) {
    spdlog::info("draining: {} tasks in flight", role_.machine().at_work());
    role_.on_stop();
  }
  role_.on_wake();
}

// ---- the run and its work ------------------------------------------------------------------------------------------

void node_host::go_on() {
  for (processes::work_item item; !role_.is_over();) {
    if (unsent_)
      role_.fail("cannot send: " + unsent_->text(), *unsent_);
    else if (to_prepare_)
      open_run();
    else if (role_.next(item))
      std::visit([this](auto& work) { start(std::move(work)); }, item);
    else
      return;
  }
}

void node_host::open_run() {
  const auto content = *std::exchange(to_prepare_, std::nullopt);
  auto run = hooks_.prepare(content);
  if (run) {
    const auto& e = *(*run)->e;
    decoder_.emplace(e.parts.down, e.parts.up, federated::rule_sizes_of(e));
    unscored_ = std::make_shared<unscored_warnings>();
  }
  role_.on_prepared(std::move(run));
}

worker_actor node_host::take_worker() {
  auto worker = idle_.back();
  idle_.pop_back();
  return worker;
}

void node_host::start(federated::training_job&& job) {
  self_->send(take_worker(),
              node_training{role_.run(), std::make_shared<processes::trained_task>(
                                             processes::trained_task{std::move(job), {}, {}, steady_now()})});
}

void node_host::start(processes::scoring&& asked) {
  self_->send(take_worker(),
              node_scoring{role_.run(), unscored_, std::make_shared<const processes::scoring>(std::move(asked))});
}

node_actor::behavior_type node_behavior(node_pointer self, processes::node_settings settings, std::size_t workers,
                                        processes::backoff pause, node_hooks hooks) {
  const auto host = self->state.host =
      std::make_shared<node_host>(self, std::move(settings), workers, std::move(pause), std::move(hooks));
  host->handle([](processes::node_role& role) { role.start(); });
  self->send(self, tick{});
  // The state owns the host: handlers that own it too would keep the actor, and with it the channel, alive.
  auto& node = *host;
  return {
      [&node](const session_opened& opened) { node.handle([&](auto&) { node.on_opened(opened); }); },
      [&node](const session_frame& received) { node.handle([&](auto&) { node.read(received); }); },
      [&node](const session_closed& closed) { node.handle([&](auto&) { node.on_closed(closed); }); },
      [&node](const node_training& done) {
        node.free_worker();
        node.handle([&](processes::node_role& role) { role.on_done(std::move(*done.task)); });
      },
      [&node](const node_scored& done) {
        node.free_worker();
        node.handle([&](processes::node_role& role) {
          role.on_done(processes::scored_clients{done.session, std::move(*done.scores)});
        });
      },
      [self, &node](const tick&) {
        node.handle([&](auto&) { node.look(); });
        self->delayed_send(self, tick_interval, tick{});
      },
  };
}

}  // namespace furlong::actors::federation
