// The status of a server for its watcher.
#include <algorithm>
#include <chrono>

#include "actors/federation/coordinator.hpp"

namespace furlong::actors::federation {

using federated::virtual_time;

virtual_time steady_now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

namespace {

/// @param open by client
std::size_t tasks_of(const protocol::client_range& clients, const std::vector<protocol::open_task>& open) {
  const auto client_of = [](const protocol::open_task& task) { return task.id.client; };
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

}  // namespace

void tell_watcher(coordinator_state& state) {
  if (state.watcher == nullptr || !state.watcher->on_tick) return;
  if (steady_now() < state.told_at + federated::microseconds_per_second) return;
  state.told_at = steady_now();
  state.watcher->on_tick(view_of(state));
}

}  // namespace furlong::actors::federation
