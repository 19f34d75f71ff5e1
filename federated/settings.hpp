// The settings of a run as plain values: what a scenario says, after it was checked.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace furlong::federated {

enum class algorithm_kind : std::uint8_t { fedsgd, fedavg, furl, fedrecon, centralized };
/// The word that scenarios use.
[[nodiscard]] constexpr std::string_view to_string(algorithm_kind kind) {
  constexpr std::string_view words[] = {"fedsgd", "fedavg", "furl", "fedrecon", "centralized"};
  return words[static_cast<std::size_t>(kind)];
}

/// How a step size changes over the rounds of a run.
enum class schedule_kind : std::uint8_t { constant, linear };

/// [algorithm] client = {...}: local training.
struct client_settings {
  float lr = 0.1F;
  schedule_kind schedule = schedule_kind::constant;  ///< linear: lr (1 - version / rounds)
  float momentum = 0.0F;
  float proximal = 0.0F;  ///< FedProx: mu, where mu/2 ||w - w_0||^2 is added to the loss
  std::uint32_t epochs = 1;
  std::uint32_t batch_size = 16;  ///< 0: all examples in one batch
  std::uint32_t max_steps = 0;    ///< 0: no cap
  bool shuffle = false;           ///< a new order in every epoch; else always the population's order
};

enum class solver_kind : std::uint8_t { sgd, least_squares };

/// [algorithm] reconstruction = {...}: how private (or, at evaluation, personal) parameters are found from a client's
/// own examples with everything else frozen.
struct reconstruction_settings {
  solver_kind solver = solver_kind::sgd;
  float lr = 0.1F;
  std::uint32_t epochs = 1;
  std::uint32_t max_steps = 0;     ///< 0: no cap; 1: one-step reconstruction
  std::uint32_t batch_size = 0;    ///< of the SGD steps; 0: the batches that were dealt to the support
  float ridge = 1.0F;              ///< least squares: weight of ||w||^2 against the summed squared errors
  bool ridge_per_example = false;  ///< multiply it by the number of examples
  bool split = true;               ///< training: even batches reconstruct, odd ones update; else all do both
  bool joint = false;              ///< the update phase moves private parameters too
};

enum class optimizer_kind : std::uint8_t { sgd, adagrad, adam, yogi };

/// [algorithm] server = {...}: how the server applies -(aggregated delta) as a gradient.
struct server_settings {
  optimizer_kind optimizer = optimizer_kind::sgd;
  double lr = 1.0;
  double momentum = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.99;
  double eps = 1e-3;
  double initial_accumulator = 0.0;  ///< v at the start
  bool bias_correction = false;
};

enum class rule_kind : std::uint8_t { mean, uniform_mean, fedatt };
enum class fedatt_noise : std::uint8_t { client, server };

/// [algorithm] aggregation = {...}
struct aggregation_settings {
  rule_kind rule = rule_kind::mean;
  double max_norm = 1024.0;             ///< largest L2 norm of one tensor of an update, else it is rejected
  std::uint32_t max_weight = 1U << 16;  ///< most examples one update may count for
  std::uint32_t max_updates = 4096;  ///< most updates of a round; raised to the cohort's size when a run is assembled
  double eps = 1.0;                  ///< FedAtt: step size
  double noise = 0.0;                ///< FedAtt: beta, scale of the normal noise (paper eq. 6)
  fedatt_noise noise_at = fedatt_noise::client;  ///< per client inside the sum (paper), or once after it (code)
};

/// [privacy]
struct privacy_settings {
  double clip = 0.0;   ///< L2 bound that a client scales its whole update to; 0: none
  double noise = 0.0;  ///< noise multiplier z: the sum of updates gets N(0, (z clip)^2) per element
};

/// [evaluation]
struct evaluation_settings {
  std::uint32_t every = 0;       ///< rounds between evaluations; 0: only at the end
  std::uint32_t batch_size = 0;  ///< of the batches dealt to support and query; 0: the client's batch size
  bool clip = false;             ///< clip predicted ratings to the dataset's range
  float clip_low = 1.0F;
  float clip_high = 5.0F;
  std::vector<std::string> reconstruct;  ///< tensors rebuilt from the support of each unseen client
};

enum class cold_start_kind : std::uint8_t { initial, reconstruct };

struct run_settings {
  std::uint64_t seed = 1;
  std::uint64_t rounds = 1;
  std::uint32_t per_round = 1;
  algorithm_kind algorithm = algorithm_kind::fedavg;
  client_settings client;
  reconstruction_settings reconstruction;
  server_settings server;
  aggregation_settings aggregation;
  privacy_settings privacy;
  evaluation_settings evaluation;
  cold_start_kind cold_start = cold_start_kind::initial;  ///< [private] cold_start: FURL, client without stored value
  std::uint32_t aggregators = 1;                          ///< [topology]
  std::uint32_t checkpoint_every = 0;                     ///< [checkpoint]; 0: only when stopping
  bool sparse_upload = false;                             ///< [network] upload = "sparse"
};

}  // namespace furlong::federated
