// When a run ends.
#pragma once

#include "federated/privacy/run_account.hpp"
#include "federated/settings/evaluation.hpp"
#include "federated/settings/running.hpp"
#include "federated/settings/settings.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated {

/// True if the last evaluation was `patience` rounds or more after the one with the best figure.
[[nodiscard]] inline bool has_stalled(std::uint64_t patience, const std::optional<validation_progress>& progress) {
  return patience > 0 && progress && progress->evaluated - progress->best >= patience;
}

/// Whether a run in this state has nothing left to do: its rounds are made, its time is up, its target is reached, it
/// does not improve any more, its privacy budget is spent, or it has diverged.
[[nodiscard]] inline bool is_over(const run_settings& settings, const server_state& state) {
  const auto& until = *settings.until;
  if (privacy::is_spent(*settings.privacy, state)) return true;
  return state.version >= settings.rounds ||
         (until.virtual_seconds > 0 && state.now >= from_seconds(until.virtual_seconds)) ||
         (until.target && state.target_reached.has_value()) || has_stalled(until.patience, state.progress) ||
         !state.losses.diverged.empty();
}

/// Whether the model of this state is evaluated: every `evaluation.every` rounds and at the end.
[[nodiscard]] inline bool is_evaluated(const run_settings& settings, const server_state& state) {
  const auto every = settings.evaluation->every;
  return is_over(settings, state) || (every != 0 && state.version % every == 0);
}

}  // namespace furlong::federated
