#include "actors/federation/node.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "actors/federation/nonce.hpp"
#include "actors/federation/run_log.hpp"
#include "federated/aggregation/accumulator.hpp"
#include "federated/client/client_work.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

namespace {

constexpr auto look_around = std::chrono::milliseconds(50);
constexpr std::size_t clients_per_scoring = 64;  // per worker and per message
/// Bytes of frames that may wait while a run is being opened: until a node is ready a gateway sends no model.
constexpr std::size_t most_unread = std::size_t{1} << 20U;

void handle_unread(node_pointer self);

/// Ends a node when its workers are done: values of updates in the model are stored and durable.
void end_after_work(node_pointer self, const std::string& why, std::optional<error> failure) {
  auto& state = self->state;
  if (state.ending) return;
  state.ending = node_end{why, std::move(failure)};
  state.to_open.reset();
}

/// Ends the session; requests of it need no answer any more.
void end_session(node_pointer self) {
  self->state.scorings.clear();
  if (std::exchange(self->state.welcomed, false)) self->state.without_session_since = steady_now();
}

/// Ends a node without a session for too long. Its unreported updates are lost.
void check_give_up(node_pointer self) {
  auto& state = self->state;
  const auto without_session = steady_now() - state.without_session_since;
  if (state.hooks.give_up == 0 || state.welcomed || without_session < state.hooks.give_up) return;
  if (state.ending) return finish(self, state.ending->why, state.ending->failure);
  finish(self, "gave up",
         error{error::kind::runtime, state.server,
               "no session for " + seconds_text(without_session) + " s; last: " + state.last_failure,
               "check that the server runs and accepts this node, or wait longer with --give-up"});
}

// ---- effects -------------------------------------------------------------------------------------------------------

void perform(node_pointer self, protocol::connect& effect) {
  auto& state = self->state;
  state.to_open = std::move(effect.address);
  state.open_at = steady_now();
  // The first attempt, and one after a redirection, are immediate.
  if (state.attempt > 0 && !state.channel) state.open_at += std::chrono::microseconds(state.pause->next()).count();
  state.channel = nullptr;
}

void perform(node_pointer self, protocol::say_hello& effect) {
  const auto own = processes::own_kernels();
  effect.content.kernel_level = own.level;
  effect.content.kernel_levels = own.levels;
  expect(self, send_control(*self->state.channel, std::move(effect.content)));
}

/// Sets the limit of the run. Before a node knows the run it accepts more, because a model may follow the welcome.
void limit_channel(node_pointer self) {
  const auto& state = self->state;
  if (state.channel && state.run) state.channel->limit(state.run->e.settings.network->max_message);
}

/// The tasks of pending values in the store that the node does not hold; from now on it does.
result<std::vector<federated::task_id>> restore_pending(node_pointer self) {
  auto& state = self->state;
  std::vector<federated::task_id> found;
  if (!federated::stages_values(state.run->e.settings)) return found;
  return state.run->store
      ->visit_pending([&](const federated::task_id& task, const models::private_parameters& own) {
        if (!state.machine->clients().contains(task.client)) return;
        const auto held = std::make_shared<const models::packed_private>(own);
        if (state.held.try_emplace(task, held_values{held}).second) found.push_back(task);
      })
      .map([&] { return found; });
}

void open(node_pointer self, const protocol::welcome& content) {
  auto& state = self->state;
  sync_values(self);
  if (state.over || state.ending) return;
  state.secrets.reset();
  state.plain.clear();
  state.run = nullptr;                                      // closes the store of the previous run
  for (auto& [task, held] : state.held) held.kept = false;  // the server may have resumed from an earlier checkpoint
  auto run = state.hooks.prepare(content);
  if (!run) return finish(self, "cannot run the scenario", run.error());
  state.run = std::move(*run);
  state.run->store->covered(content.covered);
  state.machine->set_claim(state.run->claim);
  state.decoder.emplace(state.run->e.parts.down, state.run->e.parts.up, federated::rule_sizes_of(state.run->e));
  if (state.run->e.settings.privacy->secure_aggregation) {
    state.updates.clear();  // masked for sums of another life of the server
    begin_secrets(state);
  }
  limit_channel(self);
  const auto pending = restore_pending(self);
  if (!pending) return finish(self, "its store failed", pending.error());
  perform_all(self, state.machine->on_run_opened(*pending));
  handle_unread(self);
}

void perform(node_pointer self, protocol::open_run& effect) {
  self->state.decoder.reset();
  self->state.scorings.clear();
  self->state.store_actions.push_back(
      {[] { return false; }, [self, content = std::move(effect.content)] { open(self, content); }});
}

void perform(node_pointer self, protocol::say_ready& effect) {
  if (self->state.channel)
    expect(self, send_control(*self->state.channel,
                              protocol::ready{effect.run, self->state.machine->claim(), self->state.run->sizes}));
}

void perform(node_pointer self, federated::training_job& job) { self->state.jobs.push_back(std::move(job)); }

void perform(node_pointer self, protocol::send_update& effect) {
  auto& state = self->state;
  if (!state.updates.contains(effect.task) && state.secrets) prepare_masked(self, effect.task);
  const auto at = state.updates.find(effect.task);
  if (state.channel && at != state.updates.end()) state.channel->send(*at->second);
}

void perform(node_pointer self, protocol::send_failure& effect) {
  if (self->state.channel) expect(self, send_control(*self->state.channel, protocol::task_failures{{effect.task}}));
}

void perform(node_pointer self, protocol::keep& effect) {
  const auto at = self->state.held.find(effect.task);
  if (at != self->state.held.end()) store_values(self, effect.task, at->second, effect.version);
}

void perform(node_pointer self, protocol::release& effect) {
  auto& state = self->state;
  state.updates.erase(effect.task);
  state.plain.erase(effect.task);
  if (state.secrets) state.secrets->forget(effect.task);
  auto released = state.held.extract(effect.task);
  if (released.empty()) return;
  if (effect.in_model) store_values(self, effect.task, released.mapped(), effect.task.version);
  if (state.run && federated::stages_values(state.run->e.settings)) discard_values(self, effect.task);
}

void perform(node_pointer self, protocol::cover& effect) {
  const auto may_run = [self] { return !workers_commit(self); };
  self->state.store_actions.push_back({may_run, [self, version = effect.version] {
                                         if (!self->state.run) return;
                                         auto& store = *self->state.run->store;
                                         store.covered(version);
                                         const auto served = self->state.machine->claim().served;
                                         if (auto saved = store.save(std::max(version, served)); !saved)
                                           finish(self, "its store failed", saved.error());
                                       }});
}

void perform(node_pointer self, protocol::send_close_notice& effect) {
  auto& state = self->state;
  if (!state.channel) return perform_all(self, state.machine->on_disconnected());
  expect(self, send_control(*state.channel, protocol::close_notice{effect.why, false}));
  // After that the server does not wait for the updates either.
  const auto wait =
      state.run ? state.run->e.settings.network->task_timeout : federated::network_settings{}.task_timeout;
  state.close_until = steady_now() + federated::from_seconds(wait);
}

/// Ends a node that has taken leave, and whose gateway neither reads nor times out.
void check_close(node_pointer self) {
  auto& state = self->state;
  if (!state.close_until || state.ending || steady_now() < *state.close_until) return;
  spdlog::warn("the gateway does not end the session; {} bytes wait", state.channel ? state.channel->queued() : 0);
  perform_all(self, state.machine->drain());
}

void perform(node_pointer self, protocol::close_session&) {
  auto& state = self->state;
  end_session(self);
  if (state.channel) state.channel->close();
  ++state.attempt;  // ignores later events of this channel
}

void perform(node_pointer self, protocol::stop_node& effect) {
  std::optional<error> failure;
  const auto remedy = [&](const char* usual) { return effect.remedy.empty() ? usual : effect.remedy; };
  if (effect.failed)
    failure = error{error::kind::runtime, "the server", effect.why, effect.remedy};
  else if (effect.refused)
    failure = error{error::kind::usage, "the gateway rejects this node", effect.why,
                    remedy("correct --clients, --server or --tls")};
  else if (effect.unwanted)
    failure = error{error::kind::usage, "the gateway ended the session for good", effect.why,
                    remedy("host every client on one node only, with a certificate that is not denied")};
  end_after_work(self, effect.why, std::move(failure));
}

}  // namespace

void perform_all(node_pointer self, protocol::node_effects effects) {
  for (auto& effect : effects) {
    if (self->state.over) return;
    std::visit([&](auto& one) { perform(self, one); }, effect);
  }
  continue_work(self);
}

namespace {

// ---- frames --------------------------------------------------------------------------------------------------------

void on_scoring(node_pointer self, protocol::evaluation_request& got) {
  auto& state = self->state;
  const auto from = state.machine->model(got.version);
  if (!from) return state.channel->close();
  for (std::size_t first = 0; first < got.clients.size(); first += clients_per_scoring) {
    const auto last = std::min(first + clients_per_scoring, got.clients.size());
    const auto at = [&](std::size_t i) { return got.clients.begin() + static_cast<std::ptrdiff_t>(i); };
    state.scorings.push_back(
        {state.attempt, nullptr, from,
         std::make_shared<const std::vector<std::pair<federated::group, std::uint32_t>>>(at(first), at(last))});
  }
  continue_work(self);
}

/// Leaves a gateway that violates the protocol, and connects again; ends if that always comes of it.
void leave_gateway(node_pointer self, const std::string& why) {
  auto& state = self->state;
  spdlog::error("the gateway: {}", why);
  state.left = state.attempt;
  if (state.violation.is_permanent(why))
    return finish(self, "every session ended so: " + why,
                  error{error::kind::runtime, "the gateway", why, same_build_remedy});
  if (state.channel) state.channel->close();
}

void on_message(node_pointer self, wire::message& got) {
  auto& state = self->state;
  auto& machine = *state.machine;
  if (const auto* to = std::get_if<protocol::redirect>(&got)) return perform_all(self, machine.on_redirect(*to));
  if (const auto* notice = std::get_if<protocol::close_notice>(&got)) {
    spdlog::info("the gateway says: {}", notice->why);
    state.last_failure = notice->why;
    return perform_all(self, machine.on_close_notice(*notice));
  }
  if (const auto* welcome = std::get_if<protocol::welcome>(&got)) {
    state.pause->reset();
    log_run(welcome->run);
    state.welcomed = true;
    spdlog::info("the gateway accepted this node, which waits for tasks");
    limit_channel(self);
    return perform_all(self, machine.on_welcome(*welcome));
  }
  if (const auto* given = std::get_if<protocol::assignment>(&got)) {
    auto effects = machine.on_assignment(*given);
    if (!effects) return leave_gateway(self, effects.error().text());
    state.violation.reset();
    perform_all(self, std::move(*effects));
    if (state.secrets && !state.over && !state.secrets->enters_trained()) send_keys(self, *given);
    return;
  }
  if (const auto* some = std::get_if<protocol::letters>(&got)) {
    if (state.secrets) return on_letters(self, *some);
    return leave_gateway(self, "sent letters of secure aggregation, which this run does not use");
  }
  if (const auto* what = std::get_if<protocol::verdicts>(&got)) {
    log_verdicts(*what);
    return perform_all(self, machine.on_verdicts(*what));
  }
  if (const auto* what = std::get_if<protocol::checkpointed>(&got))
    return perform_all(self, machine.on_checkpointed(what->version));
  if (auto* what = std::get_if<protocol::evaluation_request>(&got)) return on_scoring(self, *what);
  const auto* sent = std::get_if<wire::broadcast_view>(&got);
  if (sent == nullptr) return leave_gateway(self, "sent a message that gateways do not send");
  auto model = std::make_shared<federated::broadcast>();
  state.decoder->copy(*sent, *model);
  machine.on_broadcast(std::move(model));
}

void keep_unread(node_pointer self, std::shared_ptr<net::received> frame) {
  auto& unread = self->state.unread;
  auto bytes = frame->bytes().size();
  for (const auto& waiting : unread) bytes += waiting->bytes().size();
  if (bytes <= most_unread) return unread.push_back(std::move(frame));
  unread.clear();
  leave_gateway(self, "sent more than " + std::to_string(most_unread) + " bytes before this node was ready");
}

void on_frame(node_pointer self, std::shared_ptr<net::received> frame) {
  auto& state = self->state;
  if (state.left == state.attempt) return;  // what came behind a violation: it would hide that this one is repeated
  // Before the run is known only control messages are read; while it is being opened none.
  if (!state.decoder && !state.store_actions.empty()) return keep_unread(self, std::move(frame));
  wire::decoder control(nullptr);
  auto& decoder = state.decoder ? *state.decoder : control;
  auto got = decoder.decode(frame->bytes());
  if (!got) return leave_gateway(self, got.error().text());
  on_message(self, *got);
}

void handle_unread(node_pointer self) {
  for (auto& frame : std::exchange(self->state.unread, {}))
    if (!self->state.over && self->state.channel) on_frame(self, std::move(frame));
}

// ---- the session ---------------------------------------------------------------------------------------------------

void on_closed(node_pointer self, const session_closed& closed) {
  auto& state = self->state;
  if (state.over || closed.session != state.attempt) return;
  spdlog::info("session: {}", closed.why);
  if (closed.denied) return perform_all(self, state.machine->on_close_notice({closed.why, true, true}));
  end_session(self);
  state.last_failure = closed.why;
  state.channel = nullptr;
  state.unread.clear();
  perform_all(self, state.machine->on_disconnected());
}

/// The sender is a worker that is done.
void free_worker(node_pointer self) {
  --self->state.busy;
  self->state.idle.push_back(caf::actor_cast<worker_actor>(self->current_sender()));
}

void on_tick(node_pointer self) {
  auto& state = self->state;
  if (state.over) return;
  if (state.hooks.stop->load(std::memory_order_relaxed) && !std::exchange(state.draining, true)) {
    spdlog::info("draining: {} tasks in flight", state.machine->at_work());
    perform_all(self, state.machine->drain());
  }
  if (!state.over) check_close(self);
  if (!state.over) check_give_up(self);
  if (!state.over && state.to_open && steady_now() >= state.open_at) {
    const auto address = *std::exchange(state.to_open, std::nullopt);
    state.hooks.open(session_events(self), address, ++state.attempt);
  }
  if (!state.over) self->delayed_send(self, look_around, tick{});
}

}  // namespace

node_actor::behavior_type node_behavior(node_pointer self, std::string server, std::string software,
                                        protocol::client_range clients, std::size_t workers, net::backoff pause,
                                        node_hooks hooks) {
  auto& state = self->state;
  state.hooks = std::move(hooks);
  state.pause.emplace(std::move(pause));
  state.server = server;
  state.without_session_since = steady_now();
  state.machine.emplace(std::move(server), std::move(software), clients, fresh_nonce());
  state.machine->set_claim(state.hooks.claim);
  for (std::size_t i = 0; i < workers; ++i)
    state.workers.push_back(self->spawn<caf::linked>(worker_behavior, node_actor(self)));
  state.idle = state.workers;
  perform_all(self, state.machine->start());
  self->send(self, tick{});
  return {
      [self](const session_opened& opened) {
        auto& now = self->state;
        if (now.over || opened.session != now.attempt) return opened.channel->close();
        now.channel = opened.channel;
        perform_all(self, now.machine->on_connected());
      },
      [self](const session_frame& got) {
        auto& now = self->state;
        if (!now.over && got.session == now.attempt && now.channel) on_frame(self, got.frame);
      },
      [self](const session_closed& closed) { on_closed(self, closed); },
      [self](const node_training& done) {
        auto& now = self->state;
        free_worker(self);
        now.training.erase(done.job->id.client);
        now.done.push_back(done);
        continue_work(self);
      },
      [self](const node_scored& done) {
        auto& now = self->state;
        free_worker(self);
        --now.working_scorers;
        // Another session did not request them, and may belong to another life of the run.
        if (now.channel && now.run && done.session == now.attempt)
          expect(self, send_scores(*now.channel, std::move(*done.scores), most_predictions(now.run->e)));
        continue_work(self);
      },
      [self](const tick&) { on_tick(self); },
  };
}

}  // namespace furlong::actors::federation
