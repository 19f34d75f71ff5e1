#include "actors/federation/parent_link.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/federation/model_frames.hpp"
#include "actors/federation/relay.hpp"
#include "actors/federation/run_log.hpp"
#include "base/narrow_variant.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/processes/seconds_text.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

constexpr auto look_around = std::chrono::milliseconds(50);

void drop_relay(parent_link_pointer self, const std::string& why, bool final) {
  auto& state = self->state;
  if (!state.relay) return;
  state.hooks.on_shut();
  self->send(state.relay, to_branch{std::make_shared<const downward>(protocol::close_notice{why, final})});
  state.relay = nullptr;
  state.gateway = nullptr;
  state.without_parent_since = steady_now();
  state.models.clear();
}

void finish(parent_link_pointer self, const std::string& why, bool final, const std::optional<error>& failure = {}) {
  auto& state = self->state;
  if (std::exchange(state.over, true)) return;
  drop_relay(self, why, final);
  if (state.channel) {
    if (!final) static_cast<void>(send_control(*state.channel, protocol::close_notice{why, false}));
    state.channel->close();
  }
  state.hooks.on_over(why, failure);
  self->quit();
}

void close_channel(parent_link_pointer self) {
  auto& state = self->state;
  if (state.channel) state.channel->close();
  state.channel = nullptr;
  state.decoder.reset();
  state.trying = false;
}

/// An aggregator that is rejected during the run has failed, and so has one whose run has.
std::optional<error> refusal(const protocol::close_notice& notice) {
  if (notice.failed) return error{error::kind::runtime, "the parent", notice.why, notice.remedy};
  if (!notice.unwanted) return std::nullopt;
  return error{error::kind::usage, "the parent rejects this aggregator", notice.why, notice.remedy};
}

void leave_parent(parent_link_pointer self, const std::string& why) {
  auto& state = self->state;
  if (state.leaving) return finish(self, state.leaving->why, true, refusal(*state.leaving));
  if (state.own_failure) return finish(self, why, false, state.own_failure);
  spdlog::warn("the parent: {}", why);
  drop_relay(self, "the aggregator lost its parent", false);
  close_channel(self);
  state.redirected_to.reset();
  state.try_at = steady_now() + state.pause->next();
}

/// The same for a failure that a new session may not cure. The aggregator ends if the failure repeats.
void leave_for(parent_link_pointer self, const std::string& why) {
  if (!self->state.failure.is_permanent(why)) return leave_parent(self, why);
  finish(self, "every session ended so: " + why, false,
         error{error::kind::runtime, "the parent", why, federated::processes::same_build_remedy});
}

void on_redirect(parent_link_pointer self, const protocol::redirect& target) {
  auto& state = self->state;
  if (state.relay) return leave_parent(self, "redirected this aggregator after its welcome");
  auto address = net::parse_address(target.address);
  if (!address) return leave_parent(self, address.error().text());
  spdlog::info("the parent redirects this aggregator to {}", target.address);
  close_channel(self);
  state.redirected_to = std::move(*address);
  state.try_at = steady_now();
}

void on_welcome(parent_link_pointer self, protocol::welcome got) {
  auto& state = self->state;
  if (state.relay) return leave_parent(self, "welcomed this aggregator twice");
  auto run = state.hooks.prepare(got);
  if (!run) return finish(self, "cannot run the scenario: " + run.error().text(), false, run.error());
  state.pause->reset();
  state.run = std::move(*run);
  state.channel->limit(state.run->e.settings.network->max_message);
  state.encoder.emplace(state.run->e.parts.down, state.run->e.parts.up);
  state.decoder.emplace(state.run->e.parts.down, state.run->e.parts.up, federated::rule_sizes_of(state.run->e));
  log_run(state.run->e.run);
  spdlog::info("the parent accepted this aggregator, as number {}", got.aggregator);
  state.relay = self->spawn(relay_behavior, state.run, upward_actor(self), got);
  gateway_options options;
  options.number = got.aggregator = 0;  // of the relay's children
  options.clients_of = state.hooks.clients_of;
  options.admission = state.hooks.admission;
  const auto gateway =
      self->spawn(gateway_behavior, state.run, parent_actor(state.relay), std::move(got), std::move(options));
  self->send(state.relay, own_gateway{gateway});
  state.gateway = gateway;
  self->monitor(state.relay);
  self->monitor(gateway);
  state.hooks.on_open(state.run, gateway, state.relay);
}

void send_down(parent_link_pointer self, downward content) {
  self->send(self->state.relay, to_branch{std::make_shared<const downward>(std::move(content))});
}

void on_assignment(parent_link_pointer self, const protocol::assignment& got) {
  auto share = self->state.models.share_of(got);
  if (!share) return leave_parent(self, "assigned tasks on a model that it has not sent");
  send_down(self, std::move(*share));
}

void on_model(parent_link_pointer self, const wire::broadcast_view& got) {
  auto& state = self->state;
  auto model = std::make_shared<federated::broadcast>();
  state.decoder->copy(got, *model);
  state.models.add(std::move(model));
}

/// Ends the link, which tells the parent that the nodes know the end of the run.
void leave(parent_link_pointer self, const protocol::close_notice& notice) {
  auto& state = self->state;
  if (!state.relay) return finish(self, notice.why, true, refusal(notice));
  if (state.leaving) return;
  state.leaving = notice;
  state.hooks.on_shut();
  send_down(self, notice);
}

void on_frame(parent_link_pointer self, const net::received& frame) {
  auto& state = self->state;
  if (!state.decoder) state.decoder.emplace(nullptr);
  auto got = state.decoder->decode(frame.bytes());
  if (!got) return leave_for(self, got.error().text());
  if (const auto* notice = std::get_if<protocol::close_notice>(&*got))
    return notice->final ? leave(self, *notice) : leave_parent(self, notice->why);
  if (auto* welcome = std::get_if<protocol::welcome>(&*got)) return on_welcome(self, std::move(*welcome));
  if (const auto* redirect = std::get_if<protocol::redirect>(&*got)) return on_redirect(self, *redirect);
  if (!state.relay) return leave_parent(self, "sent another message before its welcome");
  if (const auto* model = std::get_if<wire::broadcast_view>(&*got)) return on_model(self, *model);
  if (const auto* order = std::get_if<protocol::assignment>(&*got)) return on_assignment(self, *order);
  if (const auto* order = std::get_if<protocol::close_request>(&*got)) return send_down(self, *order);
  if (auto* order = std::get_if<protocol::withdrawal>(&*got)) return send_down(self, std::move(*order));
  if (auto* order = std::get_if<protocol::verdicts>(&*got)) return send_down(self, std::move(*order));
  if (const auto* order = std::get_if<protocol::checkpointed>(&*got)) return send_down(self, *order);
  if (const auto* order = std::get_if<protocol::displaced>(&*got)) return send_down(self, *order);
  if (auto* order = std::get_if<protocol::letters>(&*got)) return send_down(self, std::move(*order));
  if (auto* order = std::get_if<protocol::evaluation_request>(&*got)) {
    auto request = state.models.request_of(std::move(*order));
    if (!request) return leave_parent(self, "requested scores of a model that it has not sent");
    return send_down(self, std::move(*request));
  }
  leave_parent(self, "sent a message that parents do not send");
}

/// The run cannot go on here: the parent ends it on all processes, on this one too.
void on_run_failure(parent_link_pointer self, const error& why) {
  auto& state = self->state;
  if (state.over || state.own_failure) return;
  state.own_failure = why;
  if (!state.channel) return finish(self, why.text(), false, why);
  static_cast<void>(send_control(*state.channel, protocol::close_notice{why.text(), false, false, {}, true}));
}

result<void> send(parent_link_state& state, upward&& content) {
  if (auto control = narrow_variant<wire::control>(std::move(content)))
    return send_parts(*state.channel, std::move(*control));
  auto frame = state.encoder->encode(std::get<federated::partial_aggregate>(content));
  if (!frame) return tl::unexpected(frame.error());
  state.channel->send(std::move(*frame));
  state.failure.reset();
  return {};
}

void send_up(parent_link_pointer self, upward&& content) {
  if (const auto sent = send(self->state, std::move(content)); !sent) on_run_failure(self, sent.error());
}

void on_tick(parent_link_pointer self) {
  auto& state = self->state;
  if (state.over) return;
  if (state.hooks.stop->load(std::memory_order_relaxed)) return finish(self, "the aggregator was stopped", false);
  const auto without_parent = steady_now() - state.without_parent_since;
  if (state.hooks.give_up > 0 && !state.relay && without_parent >= state.hooks.give_up)
    return finish(
        self, "the aggregator gave up", false,
        error{error::kind::runtime, "--server", "no parent for " + processes::seconds_text(without_parent) + " s",
              "check that it runs and accepts this aggregator, or wait longer with --give-up"});
  if (!state.channel && !state.trying && steady_now() >= state.try_at) {
    state.trying = true;
    state.hooks.open(session_events(self), state.redirected_to.value_or(state.hooks.parent), ++state.attempt);
  }
  self->delayed_send(self, look_around, tick{});
}

}  // namespace

parent_link_actor::behavior_type parent_link_behavior(parent_link_pointer self, parent_link_hooks hooks,
                                                      federated::processes::backoff pause) {
  self->state.hooks = std::move(hooks);
  self->state.pause.emplace(std::move(pause));
  self->state.without_parent_since = steady_now();
  // Both end on request, and are then released already unless the run is over.
  self->set_down_handler([self](const caf::down_msg& down) {
    const auto& state = self->state;
    // After the relay's last messages to the parent.
    if (state.leaving) {
      if (state.relay.address() == down.source) self->send(self, session_closed{state.attempt, state.leaving->why});
      return;
    }
    if ((state.relay && state.relay.address() == down.source) ||
        (state.gateway && state.gateway.address() == down.source))
      leave_for(self, "an actor of this aggregator ended: " + caf::to_string(down.reason));
  });
  self->send(self, tick{});
  return {
      [self](const session_opened& opened) {
        auto& state = self->state;
        if (state.over || opened.session != state.attempt) return opened.channel->close();
        state.channel = opened.channel;
        state.trying = false;
        auto hello = state.hooks.hello;
        auto own = processes::own_kernels();
        hello.kernel_level = std::move(own.level);
        hello.kernel_levels = std::move(own.levels);
        if (const auto sent = send_control(*state.channel, std::move(hello)); !sent) on_run_failure(self, sent.error());
      },
      [self](const session_frame& got) {
        auto& state = self->state;
        if (!state.over && got.session == state.attempt && state.channel) on_frame(self, *got.frame);
      },
      [self](const session_closed& closed) {
        const auto& state = self->state;
        if (state.over || closed.session != state.attempt || (!state.channel && !state.trying)) return;
        if (closed.denied) return finish(self, closed.why, false, refusal({closed.why, true, true}));
        leave_parent(self, closed.why);
      },
      [self](const from_branch& message) {
        // Of a relay that was given up meanwhile: ignored.
        const auto& state = self->state;
        if (state.relay && state.channel && self->current_sender() == state.relay)
          send_up(self, std::move(*message.what));
      },
      [self](const run_failure& message) {
        if (self->state.relay && self->current_sender() == self->state.relay) on_run_failure(self, message.why);
      },
      [self](const tick&) { on_tick(self); },
  };
}

}  // namespace furlong::actors::federation
