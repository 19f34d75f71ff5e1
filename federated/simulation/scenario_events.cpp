#include "federated/simulation/scenario_events.hpp"

#include <algorithm>
#include <array>

#include "federated/client/client_work.hpp"
#include "federated/settings/events.hpp"

namespace furlong::federated {

namespace {

/// The end of a transfer that is paused until its client is reachable: after never, so that the remaining time,
/// possibly zero, differs from an end out of range.
constexpr virtual_time resting(virtual_time left) { return never + 1 + left; }

bool rests(virtual_time ends_at) { return ends_at > never; }

/// The device stops now. A client that has trained was about to upload.
void cut_short(protocol::simulated_task& task, virtual_time now) {
  const bool trained = task.trained_at <= now;
  task.dropped = trained ? drop_stage::upload : drop_stage::train;
  if (!trained) task.trained_at = never;
  task.ends_at = now;
}

}  // namespace

bool apply_event(const event_settings& event, virtual_time now, protocol::simulated_task& task) {
  if (event.what == event_kind::leave || event.what == event_kind::kill || event.what == event_kind::unresponsive) {
    cut_short(task, now);
    if (event.erase) task.trained_at = never;  // the task may end after the erasure: nothing of it is to be kept
    return true;
  }
  if (event.what == event_kind::partition && !task.dropped && task.ends_at < never) {
    // Training goes on; a transfer rests.
    task.ends_at = resting(task.ends_at - std::max(std::min(task.trained_at, task.ends_at), now));
    return true;
  }
  if (event.what == event_kind::heal && !task.dropped && rests(task.ends_at)) {
    const auto left = task.ends_at - resting(0);
    task.ends_at = std::max(task.trained_at >= never ? now : task.trained_at, now) + left;
    return true;
  }
  return false;
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
