// The status of a server for its watcher.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "actors/federation/coordinator.hpp"
#include "federated/settings/network.hpp"

namespace furlong::actors::federation {

using federated::virtual_time;

virtual_time steady_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

/// @param open by client
std::size_t tasks_of(const federated::client_range& clients, const std::vector<federated::open_task>& open) {
  const auto client_of = [](const federated::open_task& task) { return task.id.client; };
  return static_cast<std::size_t>(std::ranges::upper_bound(open, clients.last, {}, client_of) -
                                  std::ranges::lower_bound(open, clients.first, {}, client_of));
}

federation_view view_of(const coordinator_state& state) {
  using phase = federation_view::phase;
  const auto now = !state.started ? phase::waiting : state.evaluation ? phase::evaluating : phase::training;
  const auto open = state.machine->open_tasks();
  // Not the rest after the nodes' tasks: while a node replaces another, both have its clients.
  const auto adrift = std::ranges::count_if(open, [&](const auto& task) { return !state.who->route(task.id.client); });
  federation_view view{state.machine->state(),           *state.who,         now, open.size(),
                       static_cast<std::size_t>(adrift), state.covered,      {},  {},
                       state.admission->counts(),        state.stores.lost()};
  const auto seconds_since = [at = steady_now()](virtual_time then) { return federated::to_seconds(at - then); };
  for (const auto& [number, branch] : state.branches) {
    view.aggregators.push_back({number, branch.name, branch.gateway, seconds_since(branch.since)});
    for (const auto& [first, node] : branch.nodes)
      view.nodes.push_back({node.clients, node.name, number, seconds_since(node.since), tasks_of(node.clients, open)});
  }
  return view;
}

/// Training clients that are not connected: "0-3, 7, 9-12", at most eight ranges, and how many more there are. A range
/// goes on over clients that do not train.
std::string missing_clients(const coordinator_state& state) {
  constexpr std::size_t most_ranges = 8;
  const auto clients = state.run->e.participants->training();
  const auto is_here = [&](std::size_t index) { return state.who->route(clients[index]).has_value(); };
  std::string text;
  std::size_t ranges = 0;
  std::size_t more = 0;
  for (std::size_t index = 0; index < clients.size(); ++index) {
    if (is_here(index)) continue;
    const auto first = index;
    while (index + 1 < clients.size() && !is_here(index + 1)) ++index;
    if (ranges++ >= most_ranges) {
      more += index + 1 - first;
      continue;
    }
    text += (text.empty() ? "" : ", ") + std::to_string(clients[first]);
    if (index > first) text += "-" + std::to_string(clients[index]);
  }
  return more == 0 ? text : text + " and " + std::to_string(more) + " more";
}

}  // namespace

void tell_watcher(coordinator_state& state) {
  if (state.watcher == nullptr || !state.watcher->on_tick) return;
  if (steady_now() < state.told_at + federated::microseconds_per_second) return;
  state.told_at = steady_now();
  state.watcher->on_tick(view_of(state));
}

std::size_t clients_to_begin(const coordinator_state& state) {
  const auto population = static_cast<double>(state.run->e.participants->training().size());
  return static_cast<std::size_t>(std::ceil(state.run->e.settings.network->start * population));
}

void tell_waiting(coordinator_state& state) {
  if (state.watcher == nullptr || !state.watcher->on_waiting) return;
  constexpr virtual_time first_pause = 2 * federated::microseconds_per_second;
  constexpr virtual_time longest_pause = 600 * federated::microseconds_per_second;
  auto& waiting = state.waiting;
  if (waiting.pause == 0 || waiting.reached != state.who->reached()) {
    waiting = {state.who->reached(), first_pause, steady_now() + first_pause};
    return;
  }
  if (steady_now() < waiting.due) return;
  waiting.pause = std::min(2 * waiting.pause, longest_pause);
  waiting.due = steady_now() + waiting.pause;
  const auto wanted = clients_to_begin(state);
  const auto population = state.run->e.participants->training().size();
  state.watcher->on_waiting("waiting for nodes: " + std::to_string(waiting.reached) + " of " +
                            std::to_string(population) + " training clients are here, and the run begins with " +
                            std::to_string(wanted) + " (network.start); missing: " + missing_clients(state));
}

}  // namespace furlong::actors::federation
