// Attention weights of client updates (FedAtt; Ji et al. 2019, eqs. 2 and 3).
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "models/layout.hpp"

namespace furlong::federated {

/// One tensor: alpha_k times the number of clients. A plain mean gives each client 1.
struct tensor_attention {
  std::string tensor;
  float least = 0.0F;
  float most = 0.0F;
  std::vector<float> weights;  ///< of the clients in attention_weights
};

/// The weights of one round.
struct attention_weights {
  std::vector<std::uint32_t> clients;  ///< the first of the round's clients, at most 100, ascending
  std::vector<tensor_attention> tensors;
};

/// A client's distances, one for each shared tensor.
struct client_distances {
  std::uint32_t client = 0;
  std::span<const float> distances;
};

/// alpha = softmax over the clients of their distances, for each tensor. `all` is sorted by client and not empty, each
/// entry with one distance per tensor of the layout.
[[nodiscard]] attention_weights attention_of(const models::layout& shared, std::span<const client_distances> all);

}  // namespace furlong::federated
