// When a run ends.
#pragma once

#include "federated/protocol/server_state.hpp"
#include "federated/settings.hpp"
#include "federated/settings/running.hpp"

namespace furlong::federated::protocol {

/// Whether a run in this state has nothing left to do: its rounds are made, its time is up, its target is reached, or
/// it has diverged.
[[nodiscard]] inline bool is_over(const run_settings& settings, const server_state& state) {
  const auto& until = *settings.until;
  return state.version >= settings.rounds ||
         (until.virtual_seconds > 0 && state.now >= from_seconds(until.virtual_seconds)) ||
         (until.target && state.target_reached.has_value()) || !state.losses.diverged.empty();
}

}  // namespace furlong::federated::protocol
