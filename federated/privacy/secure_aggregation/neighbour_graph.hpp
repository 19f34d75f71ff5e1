// Which clients share masks: the k-regular graph of SecAgg+ (Bell, Bonawitz, Gascon, Lepoint, Raykova 2020: "Secure
// single-server aggregation with (poly)logarithmic overhead"), a Harary graph over clients in random order.
#pragma once

#include <cstdint>
#include <vector>

#include "base/crypto.hpp"
#include "federated/settings/adversary.hpp"

namespace furlong::federated::privacy {

struct graph_parameters {
  std::uint32_t clients = 0;
  std::uint32_t degree = 0;     ///< neighbours of each client; clients - 1: all others
  std::uint32_t threshold = 0;  ///< shares that open a secret
  std::uint32_t survivors = 0;  ///< fewest clients whose sum is opened
};

/// Fewest clients of a round: with two, each would learn the other's update from the sum.
constexpr std::uint32_t fewest_clients = 3;

/// Degree and threshold by the number of clients, for statistical security of 2^-40 and a failure rate of 2^-20 with a
/// third of the clients dropped out: the published values (Bell et al., tables 1 and 2), those of the next larger
/// number of clients in between. Up to so many clients, and for all numbers that the tables do not have, each client is
/// the neighbour of all others and the threshold is above half of them (semi-malicious: 0.56), as in Bonawitz et al.
/// 2017. Above half of the neighbours no server can collect both kinds of shares of a client, because a neighbour gives
/// one kind.
[[nodiscard]] graph_parameters parameters_for(std::uint32_t clients, adversary_kind against);

/// The neighbours of each client, ascending, by its position in `clients`; the positions of clients on the ring are
/// drawn from `random`. Symmetric.
[[nodiscard]] std::vector<std::vector<std::uint32_t>> draw_graph(std::uint32_t clients, std::uint32_t degree,
                                                                 const crypto::random_source& random);

}  // namespace furlong::federated::privacy
