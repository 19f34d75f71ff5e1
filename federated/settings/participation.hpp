// Settings of participation: who is selected, and when a round ends.
#pragma once

#include <cmath>
#include <cstdint>

#include "federated/settings/policy_traits.hpp"

namespace furlong::federated {

enum class participation_mode : std::uint8_t { sync, async };
/// Staleness weight s(tau) of an update that started tau versions ago (Xie et al. 2019, "Asynchronous federated
/// optimization", section 5.2): 1; (1 + tau)^-a; 1 up to b, then 1 / (a (tau - b) + 1).
enum class staleness_kind : std::uint8_t { constant, polynomial, hinge };
/// What an asynchronous server adds: the client's change (FedBuff), or the way from its model to the client's
/// (FedAsync).
enum class async_kind : std::uint8_t { change, model };

/// [participation]: who is asked, and when a round is over. Times are in seconds of the run's clock.
struct participation_settings {
  std::uint32_t per_round = 1;  ///< synchronous: reports that close a round; the cap if the policy draws the cohort
  chosen_policy policy;
  std::uint32_t candidates = 0;    ///< power of choice: d, drawn before the worst are taken; 0: twice as many as asked
  double rate = 0.0;               ///< Poisson: probability that an available client takes part in a round
  std::uint32_t cap = 4096;        ///< Poisson: most clients of a round
  double over_selection = 1.0;     ///< synchronous: clients asked per report that is needed
  double selection_timeout = 0.0;  ///< synchronous: how long to look for clients before going on with fewer
  double retry = 60.0;    ///< when too few are there, look again after this time; Poisson: a round without reports
  double deadline = 0.0;  ///< synchronous: a round ends at the latest after this; 0: none
  std::uint32_t min_reports = 1;  ///< synchronous: a round with fewer is abandoned
  double reconnect_least = 0.0;   ///< pace steering: a client comes back after a time drawn from this window
  double reconnect_most = 0.0;
  std::uint32_t min_separation = 0;  ///< synchronous: rounds from a selection of a client to its next one, at least
  participation_mode mode = participation_mode::sync;
  std::uint32_t buffer = 10;        ///< asynchronous: updates in one new version (FedBuff: K); 1 for FedAsync
  std::uint32_t concurrency = 100;  ///< asynchronous: clients at work at once
  std::uint32_t max_staleness = 0;  ///< asynchronous: staler updates are rejected; 0: none is
  staleness_kind weighting = staleness_kind::polynomial;
  double staleness_exponent = 0.5;  ///< polynomial: a
  double hinge_slope = 10.0;        ///< hinge: a
  std::uint32_t hinge_from = 4;     ///< hinge: b
  async_kind async = async_kind::change;
  double mixing = 0.6;  ///< FedAsync: alpha
};

/// Clients that a synchronous round asks, if there are so many.
[[nodiscard]] inline std::uint64_t asked_per_round(const participation_settings& settings) {
  return static_cast<std::uint64_t>(std::ceil(settings.per_round * settings.over_selection - 1e-9));
}

}  // namespace furlong::federated
