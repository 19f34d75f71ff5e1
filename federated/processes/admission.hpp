// Why a gateway rejects peers, and what it tells them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace furlong::federated::processes {

/// Why a peer was not admitted, or its session ended.
enum class admission_refusal : std::uint8_t {
  protocol,         ///< no TLS 1.3, or another protocol inside it
  untrusted,        ///< no certificate, or one of another authority
  expired,          ///< certificate not valid now
  denied,           ///< certificate on the deny list
  not_a_node,       ///< common name of the certificate is not a node's
  too_many,         ///< limit on connections reached
  timed_out,        ///< handshake not finished in time
  refused_us,       ///< the peer does not accept the gateway's certificate
  lost,             ///< connection lost during the handshake
  not_its_clients,  ///< reported for clients that are not its own, or do not exist
  bad_frame,        ///< undecodable frame
  out_of_turn,      ///< message not allowed, or not in this state
  other_kernels,    ///< kernel level is not the run's
  other_store,      ///< private store is not the one of its clients
};
constexpr std::size_t admission_refusal_count = 14;
/// The name used in logs and metrics: "not-its-clients".
[[nodiscard]] std::string_view to_string(admission_refusal reason);

inline constexpr const char* run_is_over = "the run is over";

inline constexpr const char* right_store_remedy =
    "name the --store that these clients had, or put it back as it was last; where it is lost, let them start again "
    "with --accept-state-loss";

inline constexpr const char* right_data_remedy =
    "give this node the data that the scenario is about; where only nodes have data, divide those of a client that has "
    "too many examples, or raise algorithm.aggregation.max_weight";

}  // namespace furlong::federated::processes
