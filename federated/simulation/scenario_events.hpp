// Effects of the scenario's events on clients' tasks, and their records.
#pragma once

#include "federated/experiment/client_set.hpp"
#include "federated/rounds/run_observer.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// What an event does to the task under way of a client that it is about. Whether its end has moved.
[[nodiscard]] bool apply_event(const experiment& e, const event_settings& event, virtual_time now,
                               simulated_task& task);
/// Whether values that wait for an acknowledgement are lost with their clients' processes. Pending ones
/// (private_store::stage) are lost only with a client that is to be erased.
[[nodiscard]] bool loses_waiting_values(const run_settings& settings, const event_settings& event);
/// The line of an event in the round that makes `round`; `clients`: those that it is about.
[[nodiscard]] run_event make_run_event(const event_settings& event, virtual_time now, std::uint64_t round,
                                       const client_set& clients);

}  // namespace furlong::federated
