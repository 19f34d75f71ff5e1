// The account of a run: which mechanism its settings are, and what has been released so far.
//
// Cohorts are accounted as Poisson samples only where every client is drawn by itself, and as cohorts of fixed size
// only where each is an undisturbed draw of so many among all clients. Everything else (asynchronous runs, other
// policies, over-selection, deadlines, dropouts, availability) decides who takes part by other means than secret draws:
// there nothing is amplified, and the client with the most participations counts.
#pragma once

#include <string>
#include <vector>

#include "base/result.hpp"
#include "federated/privacy/accountant.hpp"
#include "federated/settings/aggregation.hpp"
#include "federated/settings/settings.hpp"
#include "federated/state/server_state.hpp"

namespace furlong::federated::privacy {

/// The training clients of a run.
struct run_population {
  std::uint64_t clients = 0;
  bool on_nodes = false;          ///< of a federation, where they come and go
  std::uint64_t rounds_made = 0;  ///< so far; more than settings.rounds if a resume lowered it
};

struct run_mechanism {
  mechanism of;
  std::string unsampled;     ///< sampling::none: the reason
  std::uint32_t shares = 0;  ///< of noise that clients add, which are the whole; 0: the server adds it
  /// Its releases are those that one client takes part in; else all.
  [[nodiscard]] bool by_client() const { return of.how == sampling::none; }
};

/// The mechanism of settings with privacy.noise > 0.
/// @pre the policy does not see losses, which scenarios refuse: the selection would reveal something of examples
[[nodiscard]] run_mechanism mechanism_of(const run_settings& settings, const run_population& population);
/// What the server itself sees where clients add the noise: nothing is amplified, because it selects, and so many of
/// the clients tell it their shares, which hide nothing from it.
constexpr double colluding_clients = 0.05;
/// @pre privacy.noise_at = "client"
[[nodiscard]] mechanism mechanism_for_server(const run_settings& settings, std::uint64_t clients);
/// privacy.delta, or its default.
[[nodiscard]] double delta_of(const privacy_settings& settings, std::uint64_t clients);

/// What a run has released: rounds whose sum was released, or the most of them that one client's updates are in. An
/// abandoned round releases no sum.
[[nodiscard]] std::uint64_t count_releases(bool by_client, const server_state& state);
/// Participations of a client in `rounds` rounds when all are equally likely to be selected, rounded up.
[[nodiscard]] std::uint64_t even_participations(const run_settings& settings, std::uint64_t clients,
                                                std::uint64_t rounds);

/// What privacy.target_epsilon allows: nothing less than one release. Fails (kind usage) if it allows none.
[[nodiscard]] result<privacy_budget> budget_of(const run_settings& settings, const run_population& population);
/// True if another release could exceed the budget.
[[nodiscard]] bool is_spent(const privacy_settings& settings, const server_state& state);

/// Whether the noise and the draws of cohorts come from the scenario's seed, so that anyone who has it can undo them.
/// @param on_nodes a federation
[[nodiscard]] bool is_simulated(const privacy_settings& settings, bool on_nodes);

/// What the figure assumes, in sentences.
[[nodiscard]] std::vector<std::string> assumptions_of(const run_mechanism& how);
/// What is released besides, or protected by other means, in sentences.
/// @param on_nodes a federation
[[nodiscard]] std::vector<std::string> not_covered(const run_settings& settings, bool on_nodes);

}  // namespace furlong::federated::privacy
