#include "actors/federation/node.hpp"

#include <algorithm>
#include <spdlog/spdlog.h>

#include "actors/federation/message_limits.hpp"
#include "actors/federation/model_frames.hpp"
#include "actors/federation/nonce.hpp"
#include "actors/federation/run_log.hpp"
#include "actors/federation/score_messages.hpp"
#include "actors/federation/worker.hpp"

namespace furlong::actors::federation {

namespace {

using self_pointer = node_actor::stateful_pointer<node_state>;

constexpr auto look_around = std::chrono::milliseconds(50);
constexpr std::size_t tasks_per_wave = 8;        // and worker
constexpr std::size_t clients_per_scoring = 64;  // of one worker at once, and of one message at most

void perform_all(self_pointer self, protocol::node_effects effects);
void go_on(self_pointer self);
void read_unread(self_pointer self);

void finish(self_pointer self, const std::string& why, std::optional<error> failure = {}) {
  auto& state = self->state;
  if (std::exchange(state.over, true)) return;
  if (state.channel) {
    send_control(*state.channel, protocol::farewell{why, false});
    state.channel->close();
  }
  for (const auto& worker : state.workers) self->send_exit(worker, caf::exit_reason::user_shutdown);
  state.hooks.on_over(why, failure);
  self->quit();
}

/// Ends a node when its workers are done: what the server has in a model is kept, and durable.
void end_after_work(self_pointer self, const std::string& why, std::optional<error> failure) {
  auto& state = self->state;
  if (state.ending) return;
  state.ending = node_end{why, std::move(failure)};
  state.to_open.reset();
}

/// From now on there is no session, and nobody waits for answers to what was asked in it.
void be_alone(self_pointer self) {
  self->state.scorings.clear();
  if (std::exchange(self->state.welcomed, false)) self->state.alone_since = steady_now();
}

/// Ends a node that had no session for too long. What it holds and has not reported is lost: the server asks others.
void give_up_when_alone(self_pointer self) {
  auto& state = self->state;
  const auto alone = steady_now() - state.alone_since;
  if (state.hooks.give_up == 0 || state.welcomed || alone < state.hooks.give_up) return;
  if (state.ending) return finish(self, state.ending->why, state.ending->failure);
  finish(self, "gave up",
         error{error::kind::runtime, state.home, "no session for " + seconds_text(alone) + " s; last: " + state.trouble,
               "see whether the server runs and lets this node in, or wait longer with --give-up"});
}

/// When no worker is at it: as soon as all effects under way are performed, or later.
void between_waves(self_pointer self, std::function<void()> what) { self->state.between.push_back(std::move(what)); }

void sync(self_pointer self) {
  if (auto synced = self->state.run->store->sync(); !synced) finish(self, "its store failed", synced.error());
}

/// Makes durable what was kept between waves.
void sync_kept(self_pointer self) {
  if (!self->state.over && std::exchange(self->state.unsynced, false)) sync(self);
}

/// Keeps private values as of that version, once.
void keep_values(self_pointer self, const federated::task_id& task, held_values& held, std::uint64_t version) {
  if (std::exchange(held.kept, true)) return;
  between_waves(self, [self, task, value = held.value, version] {
    self->state.unsynced = true;
    auto kept = self->state.run->store->commit(task.client, version, *value);
    if (kept) return;
    if (kept.error().what == error::kind::runtime) return finish(self, "its store failed", kept.error());
    spdlog::error("client {}: {}", task.client, kept.error().text());
  });
}

// ---- effects -------------------------------------------------------------------------------------------------------

void perform(self_pointer self, protocol::connect& effect) {
  auto& state = self->state;
  state.to_open = std::move(effect.address);
  state.open_at = steady_now();
  // The first attempt is made at once, and so is one at a place that was just named.
  if (state.attempt > 0 && !state.channel) state.open_at += std::chrono::microseconds(state.pause->next()).count();
  state.channel = nullptr;
}

void perform(self_pointer self, protocol::say_hello& effect) {
  send_control(*self->state.channel, std::move(effect.content));
}

/// To what the run allows. Until a node knows the run it takes more: a model may follow the welcome at once.
void limit_channel(self_pointer self) {
  const auto& state = self->state;
  if (state.channel && state.run) state.channel->limit(state.run->e.settings.network.max_message);
}

void open(self_pointer self, const protocol::welcome& content) {
  auto& state = self->state;
  sync_kept(self);
  if (state.over || state.ending) return;
  state.run = nullptr;                                      // the store of the run before closes: nobody else has it
  for (auto& [task, held] : state.held) held.kept = false;  // the server may have gone back
  auto run = state.hooks.prepare(content);
  if (!run) return finish(self, "cannot work on this run", run.error());
  state.run = std::move(*run);
  state.run->store->covered(content.covered);
  state.decoder.emplace(state.run->e.parts.shared);
  limit_channel(self);
  perform_all(self, state.machine->on_run_opened());
  read_unread(self);
}

void perform(self_pointer self, protocol::open_run& effect) {
  self->state.decoder.reset();
  self->state.scorings.clear();
  between_waves(self, [self, content = std::move(effect.content)] { open(self, content); });
}

void perform(self_pointer self, protocol::say_ready& effect) {
  if (self->state.channel) send_control(*self->state.channel, protocol::ready{effect.run});
}

void perform(self_pointer self, protocol::train& effect) { self->state.tasks.push_back(std::move(effect)); }

void perform(self_pointer self, protocol::send_update& effect) {
  auto& state = self->state;
  const auto at = state.updates.find(effect.task);
  if (state.channel && at != state.updates.end()) state.channel->send(*at->second);
}

void perform(self_pointer self, protocol::send_failure& effect) {
  if (self->state.channel) send_control(*self->state.channel, protocol::task_failures{{effect.task}});
}

void perform(self_pointer self, protocol::keep& effect) {
  const auto at = self->state.held.find(effect.task);
  if (at != self->state.held.end()) keep_values(self, effect.task, at->second, effect.version);
}

void perform(self_pointer self, protocol::release& effect) {
  auto& state = self->state;
  state.updates.erase(effect.task);
  auto released = state.held.extract(effect.task);
  if (effect.in_model && !released.empty()) keep_values(self, effect.task, released.mapped(), effect.task.version);
}

void perform(self_pointer self, protocol::cover& effect) {
  between_waves(self, [self, version = effect.version] {
    if (self->state.run) self->state.run->store->covered(version);
  });
}

void perform(self_pointer self, protocol::take_leave& effect) {
  auto& state = self->state;
  if (!state.channel) return perform_all(self, state.machine->on_disconnected());
  send_control(*state.channel, protocol::farewell{effect.why, false});
  // Afterwards the server does not wait for the updates either.
  const auto wait = state.run ? state.run->e.settings.network.task_timeout : federated::network_settings{}.task_timeout;
  state.leave_until = steady_now() + federated::from_seconds(wait);
}

/// Ends a node that took leave, and whose gateway neither reads on nor falls silent.
void stop_when_kept(self_pointer self) {
  auto& state = self->state;
  if (!state.leave_until || steady_now() < *state.leave_until) return;
  spdlog::warn("the gateway does not end the session; {} bytes wait", state.channel ? state.channel->queued() : 0);
  perform_all(self, state.machine->drain());
}

void perform(self_pointer self, protocol::hang_up&) {
  auto& state = self->state;
  be_alone(self);
  if (state.channel) state.channel->close();
  ++state.attempt;  // what still comes over it is not for us
}

void perform(self_pointer self, protocol::stop_node& effect) {
  std::optional<error> failure;
  if (effect.refused)
    failure = error{error::kind::usage, "the gateway does not let this node in", effect.why,
                    "correct --clients, --server or --tls"};
  else if (effect.unwanted)
    failure = error{error::kind::usage, "the gateway ended the session for good", effect.why,
                    "host every client on one node only"};
  end_after_work(self, effect.why, std::move(failure));
}

void perform_all(self_pointer self, protocol::node_effects effects) {
  for (auto& effect : effects) {
    if (self->state.over) return;
    std::visit([&](auto& one) { perform(self, one); }, effect);
  }
  go_on(self);
}

// ---- work ----------------------------------------------------------------------------------------------------------

worker_actor take_worker(self_pointer self) {
  auto worker = self->state.idle.back();
  self->state.idle.pop_back();
  ++self->state.busy;
  return worker;
}

/// The end of a wave: what was trained becomes durable, then it is reported.
void end_wave(self_pointer self) {
  auto& state = self->state;
  state.given = 0;
  auto done = std::exchange(state.done, {});
  if (done.empty()) return;
  // No client here can work any more: its tasks are not failures of clients, and the server hears no more of them.
  for (const auto& one : done)
    if (one.what->store_failed) return finish(self, "its store failed", *one.what->failure);
  if (federated::is_stateful(state.run->e.settings.algorithm)) sync(self);
  if (state.over) return;
  protocol::node_effects effects;
  const auto add = [&](protocol::node_effects some) {
    for (auto& one : some) effects.push_back(std::move(one));
  };
  for (auto& one : done) {
    const auto id = one.what->id;
    if (!one.frame) {
      spdlog::error("client {} gave up: {}", id.client, one.what->failure->text());
      add(state.machine->on_failed(id));
      continue;
    }
    state.updates[id] = std::move(one.frame);
    if (one.what->held) state.held[id] = {std::move(one.what->held)};
    add(state.machine->on_trained(id));
  }
  perform_all(self, std::move(effects));
}

void hand_out(self_pointer self) {
  auto& state = self->state;
  std::vector<federated::task_id> over;
  while (!state.idle.empty() && !state.scorings.empty()) {
    auto next = std::move(state.scorings.front());
    state.scorings.pop_front();
    next.run = state.run;
    self->send(take_worker(self), std::move(next));
  }
  while (!state.idle.empty() && !state.tasks.empty() && state.given < tasks_per_wave * state.workers.size()) {
    auto next = std::move(state.tasks.front());
    state.tasks.pop_front();
    if (!state.machine->counts(next.task)) {  // of a life of the run that is over, or not asked for any more
      over.push_back(next.task);
      continue;
    }
    ++state.given;
    auto what = std::make_shared<job>();
    what->id = next.task;
    self->send(take_worker(self), node_work{state.run, std::move(next.from), std::move(what)});
  }
  protocol::node_effects effects;
  for (const auto& id : over)
    for (auto& one : state.machine->on_failed(id)) effects.push_back(std::move(one));
  if (!effects.empty()) perform_all(self, std::move(effects));
}

/// Does what waited for the end of the wave. What it does may begin the next one.
void do_what_waits(self_pointer self) {
  auto& state = self->state;
  while (!state.between.empty() && state.busy == 0 && !state.over) {
    const auto what = std::move(state.between.front());
    state.between.pop_front();
    what();
  }
  if (state.busy == 0) sync_kept(self);
}

/// Ends the wave when it is over, does what waited for that, and begins the next.
void go_on(self_pointer self) {
  auto& state = self->state;
  if (state.over) return;
  const bool wave_is_full = state.given >= tasks_per_wave * state.workers.size();
  if (state.busy == 0) {
    if (!state.done.empty()) return end_wave(self);  // which comes back here
    const auto failed = guarded("the node", [&] {
      do_what_waits(self);
      return std::shared_ptr<const error>();
    });
    if (failed) return finish(self, "it failed", *failed);
    if (state.over || state.busy > 0) return;
    if (state.ending) return finish(self, state.ending->why, state.ending->failure);
    state.given = 0;
  } else if (wave_is_full || !state.between.empty() || state.ending) {
    return;  // let it end
  }
  if (state.run) hand_out(self);
}

// ---- frames --------------------------------------------------------------------------------------------------------

void on_scoring(self_pointer self, protocol::evaluation_request& got) {
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
  go_on(self);
}

/// A gateway that breaks the protocol is left; the next one may do better.
void leave(self_pointer self, const std::string& why) {
  spdlog::error("the gateway: {}", why);
  if (self->state.channel) self->state.channel->close();
}

void obey(self_pointer self, wire::message& got, const net::received& frame) {
  auto& state = self->state;
  auto& machine = *state.machine;
  if (const auto* to = std::get_if<protocol::redirect>(&got)) return perform_all(self, machine.on_redirect(*to));
  if (const auto* bye = std::get_if<protocol::farewell>(&got)) {
    spdlog::info("the gateway says: {}", bye->why);
    state.trouble = bye->why;
    return perform_all(self, machine.on_farewell(*bye));
  }
  if (const auto* welcome = std::get_if<protocol::welcome>(&got)) {
    state.pause->reset();
    log_run(welcome->run);
    state.welcomed = true;
    spdlog::info("the gateway took this node in");
    limit_channel(self);
    return perform_all(self, machine.on_welcome(*welcome));
  }
  if (const auto* given = std::get_if<protocol::assignment>(&got)) {
    auto effects = machine.on_assignment(*given);
    if (!effects) return leave(self, effects.error().text());
    return perform_all(self, std::move(*effects));
  }
  if (const auto* what = std::get_if<protocol::verdicts>(&got)) {
    log_verdicts(*what);
    return perform_all(self, machine.on_verdicts(*what));
  }
  if (const auto* what = std::get_if<protocol::checkpointed>(&got))
    return perform_all(self, machine.on_checkpointed(what->version));
  if (auto* what = std::get_if<protocol::evaluation_request>(&got)) return on_scoring(self, *what);
  if (!std::holds_alternative<wire::broadcast_view>(got))
    return leave(self, "sent a message that is not a gateway's to send");
  auto model = std::make_shared<federated::broadcast>();
  if (auto copied = state.decoder->decode_broadcast(frame.bytes(), *model); !copied)
    return leave(self, copied.error().text());
  machine.on_broadcast(std::move(model));
}

void on_frame(self_pointer self, std::shared_ptr<net::received> frame) {
  auto& state = self->state;
  // Before the run is known only control messages can be read; while it is being opened nothing is.
  if (!state.decoder && !state.between.empty()) return state.unread.push_back(std::move(frame));
  wire::decoder control(nullptr);
  auto& decoder = state.decoder ? *state.decoder : control;
  auto got = decoder.decode(frame->bytes());
  if (!got) return leave(self, got.error().text());
  obey(self, *got, *frame);
}

void read_unread(self_pointer self) {
  for (auto& frame : std::exchange(self->state.unread, {}))
    if (!self->state.over && self->state.channel) on_frame(self, std::move(frame));
}

// ---- the session ---------------------------------------------------------------------------------------------------

void on_closed(self_pointer self, const session_closed& closed) {
  auto& state = self->state;
  if (state.over || closed.session != state.attempt) return;
  spdlog::info("session: {}", closed.why);
  be_alone(self);
  state.trouble = closed.why;
  state.channel = nullptr;
  state.unread.clear();
  perform_all(self, state.machine->on_disconnected());
}

void on_tick(self_pointer self) {
  auto& state = self->state;
  if (state.over) return;
  if (state.hooks.stop->load(std::memory_order_relaxed) && !std::exchange(state.draining, true)) {
    spdlog::info("draining: {} tasks at work", state.machine->at_work());
    perform_all(self, state.machine->drain());
  }
  if (!state.over) stop_when_kept(self);
  if (!state.over) give_up_when_alone(self);
  if (!state.over && state.to_open && steady_now() >= state.open_at) {
    const auto address = *std::exchange(state.to_open, std::nullopt);
    state.hooks.open(session_events(self), address, ++state.attempt);
  }
  if (!state.over) self->delayed_send(self, look_around, tick{});
}

}  // namespace

node_actor::behavior_type node_behavior(self_pointer self, std::string home, std::string software,
                                        protocol::client_range clients, std::size_t workers, net::backoff pause,
                                        node_hooks hooks) {
  auto& state = self->state;
  state.hooks = std::move(hooks);
  state.pause.emplace(std::move(pause));
  state.home = home;
  state.alone_since = steady_now();
  state.machine.emplace(std::move(home), std::move(software), clients, fresh_nonce());
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
      [self](const node_done& done) {
        auto& now = self->state;
        --now.busy;
        now.idle.push_back(caf::actor_cast<worker_actor>(self->current_sender()));
        now.done.push_back(done);
        go_on(self);
      },
      [self](const node_scored& done) {
        auto& now = self->state;
        --now.busy;
        now.idle.push_back(caf::actor_cast<worker_actor>(self->current_sender()));
        // Another session did not ask for them, and may be of another life of the run.
        if (now.channel && now.run && done.session == now.attempt)
          send_scores(*now.channel, std::move(*done.scores), most_predictions(now.run->e));
        go_on(self);
      },
      [self](const tick&) { on_tick(self); },
  };
}

}  // namespace furlong::actors::federation
