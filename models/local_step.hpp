// The step of a local optimizer.
#pragma once

#include <cstdint>
#include <optional>

namespace furlong::models {

enum class local_optimizer : std::uint8_t { sgd, adam, adamw };

/// The step of the weights w for the gradient g of the mean loss.
///
/// adam   m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2, both zero at gather() and train_only();
///        w -= rate m' / (sqrt(v') + eps), with m' = m / (1 - beta1^t) and v' = v / (1 - beta2^t) in step t
///        (Kingma and Ba, Adam: a method for stochastic optimization, 2015, algorithm 1)
/// adamw  the same, with the decay separate from the gradient: w -= rate weight_decay w before the step (Loshchilov and
///        Hutter, Decoupled weight decay regularization, 2019, algorithm 2)
///
/// Before that the proximal term is added to g, then g is clipped; of sgd and adam weight_decay w is added to it last.
struct sgd_options {
  float rate = 0.1F;
  float momentum = 0.0F;  ///< v = momentum v + g; w -= rate v, v zero at gather() and train_only()
  float proximal =
      0.0F;  ///< adds proximal (w - w before the first such step) to the gradient of shared tensors (FedProx)
  local_optimizer optimizer = local_optimizer::sgd;
  // Of adam and adamw.
  float beta1 = 0.9F;
  float beta2 = 0.999F;
  float eps = 1e-8F;
  float weight_decay = 0.0F;               ///< of the gathered rows alone: those that the client's examples name
  float clip = 0.0F;                       ///< largest L2 norm of g, over all trained tensors; 0: no limit
  std::optional<float> private_rate = {};  ///< rate of private tensors; none: `rate`
};

}  // namespace furlong::models
