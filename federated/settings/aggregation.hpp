// Settings of aggregation and of differential privacy.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>

#include "base/secret_stream.hpp"
#include "federated/settings/adversary.hpp"
#include "federated/settings/rule_traits.hpp"
#include "federated/settings/update_size.hpp"

namespace furlong::federated {

/// On each client's update, or once on the aggregate.
enum class noise_place : std::uint8_t { client, server };

/// Of aggregation_settings::max_weight: weights are rounded to 24 bits.
inline constexpr std::uint32_t most_weight_bound = 1U << 24;

/// [algorithm] aggregation = {...}
struct aggregation_settings {
  chosen_rule rule;
  double max_norm = 1024.0;  ///< largest L2 norm of one tensor of an update, else it is rejected
  norm_bound_kind norm_bound = norm_bound_kind::adaptive;  ///< limits that follow from earlier updates
  std::uint32_t max_weight = 1U << 16;  ///< most examples one update may count for; raised where a client has more
  std::uint32_t max_updates = 4096;  ///< most updates of a round; raised to the cohort's size when a run is assembled
  double noise = 0.0;                ///< beta, standard deviation of the normal noise on every element (FedAtt, eq. 6)
  noise_place noise_at = noise_place::client;  ///< per client inside the sum (paper), or once after it (its code)
};

/// What privacy.target_epsilon allows.
struct privacy_budget {
  std::uint64_t releases = std::numeric_limits<std::uint64_t>::max();
  bool by_client = false;  ///< those that one client takes part in; else all
};

/// What keys the server's noise and the draws of cohorts: the scenario's seed, so that a run can be repeated, or a
/// secret that the operating system draws for each process. automatic: the seed in simulations, else the secret.
enum class noise_keying : std::uint8_t { automatic, secret, seed };

/// Noise of each round by itself, or of the sum of all rounds so far (DP-FTRL).
enum class noise_mechanism : std::uint8_t { gaussian, tree };

/// [privacy]
struct privacy_settings {
  double clip = 0.0;            ///< L2 bound that a client scales its whole update to; 0: none
  double clip_quantile = 0.0;   ///< the bound follows this quantile of the updates' norms; 0: it is fixed
  double clip_lr = 0.2;         ///< and this is the rate at which it does
  double clip_noise = 0.0;      ///< noise on the number of updates within the bound; 0: a 20th of the cohort
  double noise = 0.0;           ///< noise multiplier z: the sum of updates gets N(0, (z clip)^2) per element
  double delta = 0.0;           ///< of the accounted epsilon; 0: n^-1.1 for n training clients
  double target_epsilon = 0.0;  ///< the run ends before it is exceeded; 0: none
  noise_keying noise_key = noise_keying::automatic;
  noise_mechanism mechanism = noise_mechanism::gaussian;
  noise_place noise_at = noise_place::server;  ///< client: in shares, under secure aggregation
  std::uint32_t tree_rounds = 0;               ///< rounds after which a new tree begins; 0: one tree
  bool secure_aggregation = false;             ///< the server learns the sum of a round's updates only
  privacy::adversary_kind adversary = privacy::adversary_kind::semi_honest;  ///< that secure aggregation resists
  privacy_budget budget = {};                       ///< follows from target_epsilon when a run is assembled
  std::shared_ptr<const secret_key> key = nullptr;  ///< drawn when a run is assembled; null: the seed
};

}  // namespace furlong::federated
