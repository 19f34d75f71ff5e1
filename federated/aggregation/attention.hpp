// How much an attentive rule let each client's update weigh (FedAtt; Ji et al. 2019, eqs. 2 and 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/layout.hpp"

namespace furlong::federated {

/// Of one tensor: alpha_k times the number of clients. 1 is what a plain mean gives everybody.
struct tensor_attention {
  std::string tensor;
  float least = 0.0F;
  float most = 0.0F;
  std::vector<float> weights;  ///< of the clients listed beside
};

/// Of one round.
struct attention_weights {
  std::vector<std::uint32_t> clients;  ///< the first of the round's clients, at most 100, ascending
  std::vector<tensor_attention> tensors;
};

/// A client's distances, one for each shared tensor.
struct client_distances {
  std::uint32_t client = 0;
  std::span<const float> distances;
};

/// alpha = softmax over the clients of their distances, tensor by tensor. `all` by client; not empty, each with as many
/// distances as the layout has tensors.
[[nodiscard]] attention_weights attention_of(const models::layout& shared, std::span<const client_distances> all);

}  // namespace furlong::federated
