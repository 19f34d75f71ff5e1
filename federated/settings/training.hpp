// Settings of local training, reconstruction and the server optimizer.
#pragma once

#include <cstdint>

#include "models/local_step.hpp"

namespace furlong::federated {

/// How a step size changes over the rounds of a run.
enum class schedule_kind : std::uint8_t { constant, linear };

/// Which items are never drawn as negatives of a client: those of its train part, or of all its parts, as in much
/// published code. The latter tells the model which items are held out: all others sink.
enum class excluded_items : std::uint8_t { train, all };

/// [algorithm] client = {...}: local training.
struct client_settings {
  float lr = 0.1F;
  schedule_kind schedule = schedule_kind::constant;  ///< linear: lr (1 - version / rounds)
  float momentum = 0.0F;
  float proximal = 0.0F;  ///< FedProx: mu, where mu/2 ||w - w_0||^2 is added to the loss
  models::local_optimizer optimizer = models::local_optimizer::sgd;
  float beta1 = 0.9F;  ///< this and the next two: adam and adamw
  float beta2 = 0.999F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;
  float clip = 0.0F;  ///< largest norm of a step's gradient; 0: no limit
  std::uint32_t epochs = 1;
  std::uint32_t batch_size = 16;  ///< 0: all examples in one batch
  std::uint32_t max_steps = 0;    ///< 0: no cap
  bool shuffle = false;           ///< a new order in every epoch; else always the population's order
  std::uint32_t negatives = 4;    ///< of implicit feedback: items drawn for each interaction
  excluded_items exclude = excluded_items::train;
};

enum class solver_kind : std::uint8_t { sgd, least_squares };

/// [algorithm] reconstruction = {...}: how private (or, at evaluation, personal) parameters are found from a client's
/// own examples with everything else frozen.
struct reconstruction_settings {
  solver_kind solver = solver_kind::sgd;
  float lr = 0.1F;
  std::uint32_t epochs = 1;
  std::uint32_t max_steps = 0;     ///< 0: no cap; 1: one-step reconstruction
  std::uint32_t batch_size = 0;    ///< of the SGD steps; 0: the client's batch size
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

}  // namespace furlong::federated
