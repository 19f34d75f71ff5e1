// The account of differential privacy, for summary.json and people.
#pragma once

#include <string>

#include "base/result.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/privacy/accountant.hpp"
#include "federated/state/server_state.hpp"
#include "tools/runs/figures_json.hpp"

namespace furlong::tools {

/// "epsilon" (null: nothing is guaranteed), "delta", "unit", "relation", the mechanism, "accountant" and "rdp".
[[nodiscard]] json mechanism_json(const federated::privacy::mechanism& mechanism, std::uint64_t releases, double delta);

/// What a run with privacy.noise has spent: mechanism_json(), "simulated", "assumes" and "not_covered"; "server", where
/// clients add the noise.
/// @param delta 0: privacy.delta, or its default
/// @param later rounds that were made after this state
[[nodiscard]] json privacy_json(const federated::experiment& experiment, const federated::server_state& state,
                                double delta = 0.0, std::uint64_t later = 0);
/// The same as lines of text.
[[nodiscard]] std::string privacy_text(const json& object);

/// The same in one line: "privacy: epsilon 2.4 for delta 0.0001 (client, add-or-remove-one), simulated privacy".
[[nodiscard]] std::string privacy_line(const json& object);

/// What a scenario will have spent when its rounds are made, in one sentence; empty without privacy.noise. Fails (kind
/// usage) if privacy.target_epsilon cannot be kept.
[[nodiscard]] result<std::string> privacy_note(const federated::run_settings& settings, std::uint64_t clients);

}  // namespace furlong::tools
