#include "federated/simulation/scenario_events.hpp"

#include <algorithm>
#include <array>

#include "federated/client/client_work.hpp"
#include "federated/settings/events.hpp"
#include "federated/world/world.hpp"

namespace furlong::federated {

namespace {

/// The device stops now. A client that has trained was about to upload.
void cut_short(simulated_task& task, virtual_time now, drop_cause cause) {
  const bool trained = task.trained_at <= now;
  task.dropped = trained ? drop_stage::upload : drop_stage::train;
  if (!trained) task.trained_at = never;
  task.cause = cause;
  task.ends_at = now;
}

/// Draws the fate again after a change of the connection. Whether the end of the task has moved.
bool redraw_fate(const experiment& e, simulated_task& task) {
  const auto before = std::pair(task.ends_at, task.dropped);
  const auto now = draw_fate(e, task.id, task.started_at, task.offline);
  task.trained_at = now.trained_at;
  task.ends_at = now.ends_at;
  task.dropped = now.dropped;
  task.cause = now.cause;
  return before != std::pair(task.ends_at, task.dropped);
}

}  // namespace

bool apply_event(const experiment& e, const event_settings& event, virtual_time now, simulated_task& task) {
  switch (event.what) {
    case event_kind::leave: cut_short(task, now, drop_cause::left); break;
    case event_kind::kill: cut_short(task, now, drop_cause::killed); break;
    case event_kind::unresponsive: cut_short(task, now, drop_cause::unresponsive); break;
    case event_kind::join:
    case event_kind::restart: return false;
    case event_kind::partition:
    case event_kind::heal: {
      if (task.dropped && task.ends_at <= now) return false;  // its end is certain
      const bool offline = !task.offline.empty() && task.offline.back().to >= never;
      if (offline == (event.what == event_kind::partition)) return false;
      if (offline)
        task.offline.back().to = now;
      else
        task.offline.push_back({now, never});
      return redraw_fate(e, task);
    }
  }
  if (event.erase) task.trained_at = never;  // the task may end after the erasure: nothing of it is to be kept
  return true;
}

bool loses_waiting_values(const run_settings& settings, const event_settings& event) {
  const bool gone =
      event.what == event_kind::leave || event.what == event_kind::kill || event.what == event_kind::unresponsive;
  return gone && (event.erase || !stages_values(settings));
}

run_event make_run_event(const event_settings& event, virtual_time now, std::uint64_t round,
                         const client_set& clients) {
  constexpr std::array<const char*, 7> words = {"join",      "leave", "kill",        "restart",
                                                "partition", "heal",  "unresponsive"};
  run_event record{now, round, words[static_cast<std::size_t>(event.what)], {}, {}, {}};
  const auto numbers = std::to_string(event.first) + "-" + std::to_string(event.last);
  if (event.target == event_target::nodes) {
    record.processes = "nodes " + numbers;
  } else if (event.target == event_target::aggregators) {
    record.processes = "aggregators " + numbers;
  } else if (event.share > 0) {
    record.detail = "share " + std::to_string(event.share);
    clients.visit([&](std::uint32_t client) { record.members.push_back(client); });
  } else {
    record.client = event.first;
    record.last = event.last;
  }
  return record;
}

}  // namespace furlong::federated
