// A client's numbers of examples, as its node declares them when it joins.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "federated/experiment/client_score.hpp"
#include "federated/experiment/experiment.hpp"
#include "federated/state/store_claim.hpp"

namespace furlong::federated::protocol {

struct client_sizes {
  std::uint32_t train = 0;       ///< examples to train on; 0: it does not train
  std::uint32_t validation = 0;  ///< predictions of it in the validation group at most: one an example, or one a token
  std::uint32_t seen = 0;        ///< the same in the seen group
  std::uint32_t unseen = 0;      ///< and in the unseen group

  /// Maximum number of predictions in this group.
  [[nodiscard]] std::uint32_t scored(group in) const;
  friend bool operator==(const client_sizes&, const client_sizes&) = default;
};

/// The sizes of a range of clients, from their data.
[[nodiscard]] std::vector<client_sizes> sizes_of(const experiment& e, const client_range& clients);

/// Why a node with these declared sizes must be refused: they differ from the server's data or, if only nodes have
/// data, exceed aggregation.max_weight. Nothing: accepted.
/// @param declared one for each of the clients
[[nodiscard]] std::optional<std::string> size_mismatch(const experiment& e, const client_range& clients,
                                                       std::span<const client_sizes> declared);

}  // namespace furlong::federated::protocol
