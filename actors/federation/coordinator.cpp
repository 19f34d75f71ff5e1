#include "actors/federation/coordinator.hpp"

#include <algorithm>
#include <chrono>
#include <spdlog/spdlog.h>

#include "federated/processes/membership.hpp"
#include "federated/settings/network.hpp"
#include "federated/settings/running.hpp"

namespace furlong::actors::federation {

using federated::virtual_time;
using namespace coordination;
using namespace processes;

namespace {

constexpr auto look_around = std::chrono::milliseconds(100);
/// For a node that was cut off to connect again.
constexpr virtual_time time_to_return = 4 * federated::microseconds_per_second;

// ---- branches ------------------------------------------------------------------------------------------------------

federated::kernel_rule rule_of(const coordinator_state& state) { return state.run->e.settings.network->kernels; }

/// A branch ended after it was informed that the run is over.
void left(coordinator_pointer self, std::uint32_t number) {
  auto& state = self->state;
  for (const auto& [first, node] : state.branches.at(number).nodes) {
    spdlog::info("node {} may not have heard that the run is over: it is waited for", node.name);
    state.shutdown->on_unconfirmed(node.clients);
  }
  state.branches.erase(number);
  state.who->remove_aggregator(number, now(self));
  if (number == state.own) return end_run(self, std::move(*state.outcome), true);
  continue_shutdown(self);
}

void lose(coordinator_pointer self, std::uint32_t number, const std::string& why) {
  auto& state = self->state;
  const auto at = state.branches.find(number);
  if (at == state.branches.end()) return;
  if (state.shutdown->is_announced()) return left(self, number);
  spdlog::warn("aggregator {} ({}): {}", number, at->second.name, why);
  // It may still be connected, but is not trusted any more; if it is not connected this has no effect.
  send_down(self, number, protocol::close_notice{why, false});
  state.branches.erase(at);
  state.who->remove_aggregator(number, now(self));
  perform_all(self, state.machine->on_aggregator_lost(number, now(self)));
  if (state.evaluation) send_requests(self, state.evaluation->on_aggregator_lost(number, now(self)));
  finish_evaluation_when_over(self);
}

/// Whether a process that arrives may take part with its kernels. If the level of all is lowered for it, all connect
/// again.
kernel_choice::answer judge_kernels(coordinator_pointer self, const kernel_offer& offer) {
  auto& state = self->state;
  const bool begun = state.started || state.machine->state().history.life() > 0;
  auto answer = state.kernels.on_arrival(rule_of(state), offer, begun);
  if (!answer.lowered) return answer;
  const auto why = "the run computes with kernels of level " + own_kernels().level + " now, which all processes have";
  spdlog::info("{}: nodes and aggregators connect again", why);
  state.kernel_levels.clear();
  self->send(state.gateway, sessions_over{why});
  for (const auto& [number, branch] : std::map(state.branches))
    if (number != state.own) lose(self, number, why);
  return answer;
}

/// Where a node belongs. nullopt: its session is over.
std::optional<node_placement> place_node(coordinator_pointer self, const node_arrival& node) {
  auto& state = self->state;
  node_placement answer{node.session};
  const auto kernels = judge_kernels(self, node.kernels);
  if (kernels.lowered) return std::nullopt;
  answer.other_kernels = kernels.refused;
  answer.other_store = unlike_store(state.run->e, state.machine->state(), state.stores, node.clients, node.claim);
  if (answer.other_kernels || answer.other_store) return answer;  // it is not on its way to anywhere
  state.who->on_node_seen(node.clients, now(self));
  if (!state.shutdown->is_announced()) answer.address = state.who->gateway_for(node.clients, node.avoid, now(self));
  return answer;
}

/// Behind what the gateway said before it ended.
void on_down(coordinator_pointer self, const caf::down_msg& down) {
  const auto& state = self->state;
  if (state.gateway.address() == down.source) self->send(self, branch_gone{state.own, "its actor ended"});
}

/// Ends the run when nobody is left to train: nodes that failed do not come back by themselves.
void check_failed(coordinator_pointer self) {
  const auto& state = self->state;
  if (!state.started || state.outcome || state.who->reached() > 0) return;
  if (const auto last = state.failed->failure_of_all())
    fail_for_all(self, {error::kind::runtime, "the nodes", "all of them have failed; the last one: " + *last,
                        "correct the part in all programs, and continue with serve --resume"});
}

void hear(coordinator_pointer self, std::uint32_t from, protocol::attached& what) {
  auto& state = self->state;
  const auto& e = state.run->e;
  if (auto refusal = refusal_of(e, state.machine->state(), state.stores, what)) {
    spdlog::warn("node {} is refused: {}", what.node, refusal->why);
    state.who->refused(what.clients);
    return send_down(self, from, std::move(*refusal));
  }
  const auto others = state.who->others_with(what.clients, what.instance);
  if (!state.who->attach(from, what.clients, what.instance)) return;
  state.failed->on_attached(what.clients);
  // Their own gateways do not know of it.
  for (const auto& [aggregator, instance] : others) send_down(self, aggregator, protocol::displaced{instance});
  state.kernel_levels.insert(level_of_run(rule_of(state), what.kernel_level));
  if (auto lost = take_store(e, state.machine->state(), state.stores, what)) {
    spdlog::warn("node {}: private values of clients {} to {} are lost: {}", what.node, what.clients.first,
                 what.clients.last, lost->detail);
    lost->at = now(self);
    state.machine->on_event(std::move(*lost));
  }
  state.branches.at(from).nodes[what.clients.first] = {what.clients, what.node, steady_now()};
  state.shutdown->on_attached(what.clients);
  perform_all(self, state.machine->on_attached(from, what.clients.first, what.clients.last, what.holding, now(self)));
  if (state.evaluation) send_requests(self, state.evaluation->on_attached(what.clients, now(self)));
}
void hear(coordinator_pointer self, std::uint32_t from, protocol::detached& what) {
  self->state.who->detach(from, what.clients, now(self), what.strayed);
  auto& state = self->state;
  state.branches.at(from).nodes.erase(what.clients.first);
  if (state.shutdown->is_announced() && what.strayed) state.shutdown->on_unconfirmed(what.clients);
  if (!what.failure.empty())
    spdlog::warn("the node of clients {} to {} has failed: {}", what.clients.first, what.clients.last, what.failure);
  state.failed->on_detached(what.clients, what.failure);
  check_failed(self);
}
void hear(coordinator_pointer self, std::uint32_t from, protocol::settled& what) {
  perform_all(self, self->state.machine->on_settled(from, what.each, now(self)));
}
void hear(coordinator_pointer self, std::uint32_t from, protocol::withdrawn& what) {
  perform_all(self, self->state.machine->on_withdrawn(from, what.tasks, now(self)));
}

void hear(coordinator_pointer self, std::uint32_t from, protocol::tasks_lost& what) {
  spdlog::warn("aggregator {} lost another one below it, and with it {} tasks", from,
               what.folded.size() + what.open.size());
  perform_all(self, self->state.machine->on_tasks_lost(from, what, now(self)));
}

void hear(coordinator_pointer self, std::uint32_t from, protocol::letters& what) {
  perform_all(self, self->state.machine->on_letters(from, what, now(self)));
}

void hear(coordinator_pointer self, std::uint32_t from, federated::partial_aggregate& what) {
  auto& state = self->state;
  if (what.aggregator != from) return lose(self, from, "sent a partial aggregate of another aggregator");
  auto effects = state.machine->on_partial(std::move(what), now(self));
  // Not to be merged: as if it had never come.
  if (!effects) return lose(self, from, effects.error().text());
  perform_all(self, std::move(*effects));
}

void hear(coordinator_pointer self, std::uint32_t from, protocol::evaluation_scores& what) {
  auto& state = self->state;
  if (state.evaluation) send_requests(self, state.evaluation->on_scores(from, std::move(what), now(self)));
  finish_evaluation_when_over(self);
}

// ---- time ----------------------------------------------------------------------------------------------------------

void start_when_enough_are_here(coordinator_pointer self) {
  auto& state = self->state;
  const auto all = state.run->e.participants->training().size();
  if (state.who->reached() < clients_to_begin(state)) return tell_waiting(state);
  state.started = true;
  const auto before = now(self);
  state.began = steady_now() - state.machine->state().now;
  state.who->begin(before, now(self));
  spdlog::info("{} of {} clients are here: the run begins at version {}", state.who->reached(), all,
               state.machine->state().version);
  perform_all(self, state.machine->start());
}

void on_tick(coordinator_pointer self) {
  auto& state = self->state;
  if (!state.promise.pending()) return;
  continue_shutdown(self);
  if (!state.promise.pending()) return;
  const bool stopping = state.stop->load(std::memory_order_relaxed) && !state.outcome;
  if (!state.started && !stopping) start_when_enough_are_here(self);
  if (!state.started && stopping) {
    // Where all rounds were made and only the last evaluation is missing, it stays missing: the next life makes it.
    state.unevaluated = true;
    state.machine->stop();
    save_checkpoint(self);
    perform_all(self, {});
  } else if (stopping && !std::exchange(state.settled_to_stop, true)) {
    if (state.evaluation) state.evaluation->on_stop(now(self));
    perform_all(self, state.machine->on_stop(now(self)));
  }
  finish_evaluation_when_over(self);
  if (!state.promise.pending()) return;
  tell_watcher(state);
  self->delayed_send(self, look_around, tick{});
}

void on_told(coordinator_pointer self, std::uint32_t branch, upward&& content) {
  if (self->state.branches.contains(branch)) std::visit([&](auto& message) { hear(self, branch, message); }, content);
}

}  // namespace

std::optional<std::string> coordinator_children::judge_kernels(const kernel_offer& offer) {
  return federation::judge_kernels(self_, offer).refused;
}

protocol::aggregator_place coordinator_children::place(const protocol::branch_hello& hello) {
  auto& state = self_->state;
  return state.who->place_aggregator(state.run->e.settings.topology->fan_in, hello.operators);
}

protocol::welcome coordinator_children::add(const protocol::branch_hello& hello) {
  auto& state = self_->state;
  state.kernel_levels.insert(level_of_run(rule_of(state), hello.kernel_level));
  auto welcome = state.run->welcome;
  welcome.kernel_level = level_of_run(rule_of(state), welcome.kernel_level);
  welcome.history = state.machine->state().history;
  welcome.covered = state.covered;
  welcome.aggregator = state.who->add_aggregator(hello.gateway, hello.operators);
  state.branches[welcome.aggregator] = {hello.name, hello.gateway, steady_now()};
  return welcome;
}

void coordinator_children::hear(std::uint32_t child, upward&& content) { on_told(self_, child, std::move(content)); }

void coordinator_children::lose(std::uint32_t child, const std::string& reason) {
  federation::lose(self_, child, reason);
}

void coordinator_children::fail_run(const error& reason) { fail_for_all(self_, reason); }

coordinator_actor::behavior_type coordinator_behavior(
    coordinator_pointer self, std::shared_ptr<const federation_context> run,
    std::shared_ptr<federated::server_state> start, const federated::run_observer* observer,
    const server_watcher* watcher, const std::atomic<bool>* stop, clients_of_certificate clients_of,
    std::shared_ptr<admission_control> admission, std::shared_ptr<std::promise<gateway_actor>> opened) {
  auto& state = self->state;
  state.run = std::move(run);
  state.observer = observer;
  state.watcher = watcher;
  state.stop = stop;
  const auto& network = *state.run->e.settings.network;
  state.who.emplace(state.run->e.clients->facts().clients, state.run->e.participants->training(),
                    protocol::absence_limits{federated::from_seconds(network.heartbeat + network.timeout),
                                             federated::from_seconds(network.task_timeout)});
  state.failed.emplace(state.run->e.participants->training());
  state.shutdown.emplace(federated::from_seconds(network.heartbeat + network.timeout) + time_to_return);
  state.watch.emplace(*start);
  state.began = steady_now() - start->now;
  if (start->history.life() > 0) state.covered = start->version;
  state.kernel_levels = start->kernel_levels;
  state.stores = start->stores;
  state.machine.emplace(state.run->e, std::move(*start), &*state.who);
  state.machine->check_keys_with(state.run->check_keys);
  gateway_options options;
  options.clients_of = std::move(clients_of);
  options.admission = admission;
  state.admission = std::move(admission);
  options.number = state.who->add_aggregator("");
  auto welcome = state.run->welcome;
  welcome.aggregator = options.number;
  const auto number = state.own = options.number;
  const auto gateway =
      self->spawn(gateway_behavior, state.run, parent_actor(self), std::move(welcome), std::move(options));
  state.branches[number] = {"the server's own gateway", "", steady_now()};
  state.gateway = gateway;
  state.parent.emplace(self);
  state.children.emplace(state.run, *state.parent,
                         child_messages{[self](run_failure failure) { self->send(self, std::move(failure)); },
                                        [self](session_closed end) { self->send(self, std::move(end)); }});
  self->set_down_handler([self](const caf::down_msg& down) { on_down(self, down); });
  self->monitor(gateway);
  opened->set_value(gateway);
  return {
      [self](const from_branch& message) { on_told(self, message.branch, std::move(*message.what)); },
      [self](const run_failure& message) { fail_for_all(self, message.why); },
      [self](const run_request&) {
        self->state.promise = self->make_response_promise<run_result>();
        self->send(self, tick{});
        return self->state.promise;
      },
      [self](const session_opened& opened) { self->state.children->on_opened(opened); },
      [self](const session_frame& got) { self->state.children->on_frame(got); },
      [self](const session_closed& closed) { self->state.children->on_closed(closed); },
      [self, number](const branch_gone& gone) {
        if (gone.branch == number && !self->state.shutdown->is_announced())
          return fail_run(self, {error::kind::runtime, "the server's own gateway", gone.why, "see the log"});
        lose(self, gone.branch, gone.why);
      },
      [self](const node_arrived& arrived) {
        const auto gateway = caf::actor_cast<gateway_actor>(self->current_sender());
        if (auto answer = place_node(self, arrived.node)) self->send(gateway, node_placed{std::move(*answer)});
      },
      [self](const masks_removed& done) {
        auto& sum = done.work->sum;
        perform_all(self, self->state.machine->on_masks_removed(done.work->version, std::move(sum), now(self)));
      },
      [self](const alarm& rings) { perform_all(self, self->state.machine->on_timer(rings.what, now(self))); },
      [self](const tick&) { on_tick(self); },
  };
}

}  // namespace furlong::actors::federation
