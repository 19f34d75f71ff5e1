// Effects of the scenario's events on clients' tasks, and their records.
#pragma once

#include "federated/protocol/server_state.hpp"
#include "federated/run_observer.hpp"
#include "federated/simulation/client_set.hpp"

namespace furlong::federated {

/// Applies an event to the current task of an affected client. True if the task's end moved.
[[nodiscard]] bool apply_event(const event_settings& event, virtual_time now, protocol::simulated_task& task);
/// The record of an event in the round that makes `round`; `clients`: the affected ones.
[[nodiscard]] run_event make_run_event(const event_settings& event, virtual_time now, std::uint64_t round,
                                       const client_set& clients);

}  // namespace furlong::federated
